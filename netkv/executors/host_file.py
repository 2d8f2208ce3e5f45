"""Files of hosts that are reached over SSH.

A file has a host on each line, and `#` begins a comment:

    user@192.0.2.7:2222 jobs=4 netkv=/opt/netkv/bin/netkv

`jobs` is how many units it executes at a time (by default one on each of its cores), `netkv` the
command there (by default the one on its PATH).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netkv.errors import UsageError

_EXAMPLE = "It should look like user@192.0.2.7:22 jobs=4 netkv=/opt/netkv/bin/netkv."


@dataclass(frozen=True)
class Host:
    """One host of the file."""

    name: str
    """As written, without options."""
    address: str
    port: int | None
    user: str | None
    jobs: int | None
    netkv: str

    @property
    def command(self) -> list[str]:
        """The worker's command line there."""
        jobs = [] if self.jobs is None else ["--jobs", str(self.jobs)]
        return [self.netkv, "worker", "--invited", "--ends-with-input", *jobs]


def read(file: str) -> list[Host]:
    """The hosts of a file; raises `UsageError` for a line that names none."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"The file of hosts '{file}' cannot be read: {why}.") from error
    found = []
    for number, line in enumerate(lines, 1):
        if words := line.partition("#")[0].split():
            found.append(_host(words, f"{file}, line {number}"))
    if not found:
        raise UsageError(f"The file of hosts '{file}' names none. {_EXAMPLE}")
    return found


def parse(name: str, netkv: str) -> Host:
    """The host `[USER@]HOST[:PORT]`, with its command netkv."""
    return _host([name, f"netkv={netkv}"], "'lab.hosts'")


def _host(words: list[str], where: str) -> Host:
    name, *options = words
    user, at, rest = name.rpartition("@")
    address, colon, port = rest.rpartition(":") if rest.count(":") == 1 else (rest, "", "")
    given: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if key not in ("jobs", "netkv") or not equals or not value:
            raise UsageError(f"{where}: '{option}' is no option of a host. {_EXAMPLE}")
        given[key] = value
    numbers = [it for it in (port if colon else None, given.get("jobs")) if it is not None]
    if not address or (at and not user) or not all(it.isdecimal() and int(it) for it in numbers):
        raise UsageError(f"{where}: '{' '.join(words)}' names no host. {_EXAMPLE}")
    return Host(
        name,
        address,
        int(port) if colon else None,
        user or None,
        int(given["jobs"]) if "jobs" in given else None,
        given.get("netkv", "netkv"),
    )
