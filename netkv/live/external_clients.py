"""What programs that use a lab report about themselves, for those who look at the lab.

A program writes a file in the lab's directory (`external/NUMBER.json`, numbers as in the names of
the nodes `external-1`, ...) once a second while it has a place. The file names its process, so the
file of a killed program is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from netkv.processes import Identity, identity

_DIRECTORY = "external"
_INTERVAL_S = 1.0
_RATES = ("received", "sent", "reads", "hits")
"""The counts of a session whose rates are reported."""


@dataclass(frozen=True)
class ExternalClient:
    """A program that has a place in a lab."""

    process: Identity
    program: str
    """`gateway`, or the name of the program that uses the client library."""
    received: int
    """Frames from the rack since it has its place."""
    sent: int
    received_per_s: float
    """In the last second before the report."""
    sent_per_s: float
    reads_per_s: float = 0.0
    """Reads that were answered."""
    hits_per_s: float = 0.0
    """Those among them that a cache answered."""


def of_lab(directory: Path, places: int) -> dict[str, ExternalClient]:
    """The programs that use a lab, by the names of their nodes."""
    found = {}
    for number in range(1, places + 1):
        try:
            document = json.loads(_file(directory, number).read_text())
            client = ExternalClient(**{**document, "process": Identity(**document["process"])})
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if client.process.alive:
            found[f"external-{number}"] = client
    return found


class Report:
    """Writes the report of this program, in a thread of its own, until it is closed."""

    def __init__(
        self,
        directory: Path,
        number: int,
        statistics: Callable[[], Mapping[str, int]],
        program: str | None = None,
    ) -> None:
        """`directory`: of the lab; `statistics`: frames `received` and `sent`, answered `reads` and
        `hits` among them; `program`: None for the name of the running one."""
        self._file = _file(directory, number)
        self._statistics = statistics
        self._program = program or Path(sys.argv[0] or "python").name
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the reports soon, and deletes the last one."""
        self._over.set()

    def close(self) -> None:
        """Ends the reports; the last one is deleted when this returns."""
        self.stop()
        self._thread.join()

    def _run(self) -> None:
        process = identity(os.getpid())
        # A lab that goes down deletes its directory.
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(exist_ok=True)
            # By its descriptor, so that no report gets into a later lab of the same name.
            directory = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._report(process, directory)
            finally:
                os.close(directory)

    def _report(self, process: Identity | None, directory: int) -> None:
        at, before = time.monotonic() - _INTERVAL_S, dict.fromkeys(_RATES, 0)
        while process is not None:
            # A role in Python may count no reads.
            counts, now = {**dict.fromkeys(_RATES, 0), **self._statistics()}, time.monotonic()
            rates = {f"{name}_per_s": (counts[name] - before[name]) / (now - at) for name in _RATES}
            report = ExternalClient(
                process, self._program, counts["received"], counts["sent"], **rates
            )
            at, before = now, counts
            _replace(directory, self._file.name, json.dumps(asdict(report)))
            if self._over.wait(_INTERVAL_S):
                break
        os.unlink(self._file.name, dir_fd=directory)


def _replace(directory: int, name: str, text: str) -> None:
    draft = f"{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600, dir_fd=directory), "w") as file:
        file.write(text)
    os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)


def _file(directory: Path, number: int) -> Path:
    return directory / _DIRECTORY / f"{number}.json"
