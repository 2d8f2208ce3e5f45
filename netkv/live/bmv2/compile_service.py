"""A p4c elsewhere, in a container for example, which compiles what it finds in a shared folder.

The folder has a file `version`, what that p4c prints as its version, and `alive`, which the service
touches several times a second, also while p4c runs. A request is a folder of its own, in which p4c
runs, with copies of all sources and the file `arguments`, one a line. `docker/p4c.sh` is the
service and describes the answer. `docs/use/bmv2.md` says how to use it.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from netkv.errors import NetkvError

_POLL_S = 0.05
_GONE_S = 30.0
"""Without a touch of `alive` for so long, the service has stopped."""
_LIMIT_STATUS = 124
"""Exit status of a p4c that has reached the time limit of the service."""
_SIGNALS = 128
"""Exit statuses above it are signals."""
_SOURCES = ("*.p4", "*.h")


class NotServedError(NetkvError):
    """A folder in which no p4c compiles."""


def version(folder: Path) -> str:
    """What the p4c of a folder prints as its version; raises `NotServedError`."""
    with contextlib.suppress(FileNotFoundError):
        text = (folder / "version").read_text()
        if (folder / "alive").exists():
            return text
    raise NotServedError(
        f"No p4c compiles what is put into the folder {folder} (it lacks the files 'version' and "
        f"'alive'): start 'docker/p4c.sh {folder}' where a p4c is (docs/use/bmv2.md)."
    )


@contextlib.contextmanager
def request(folder: Path, program: Path, includes: Sequence[Path]) -> Iterator[Request]:
    """A request with copies of the program and of the sources of directories with includes; it is
    removed at the end."""
    # The service takes a folder as soon as it has `arguments`, which come last.
    place = Path(tempfile.mkdtemp(dir=folder, prefix="netkv-"))
    try:
        place.chmod(0o777)
        names = {each: f"include-{number}" for number, each in enumerate(includes)}
        for each, name in names.items():
            for pattern in _SOURCES:
                for file in each.rglob(pattern):
                    _copy(file, place / name / file.relative_to(each))
        root = next((each for each in includes if program.is_relative_to(each)), None)
        if root is None:
            main = Path("source", program.name)
            for pattern in _SOURCES:
                for file in program.parent.glob(pattern):
                    _copy(file, place / "source" / file.name)
            _copy(program, place / main)
        else:
            main = Path(names[root]) / program.relative_to(root)
        yield Request(folder, place, main, [Path(name) for name in names.values()])
    finally:
        shutil.rmtree(place, ignore_errors=True)


class Request:
    """A program that the service compiles; paths are relative to `place`, where p4c runs."""

    def __init__(self, folder: Path, place: Path, program: Path, includes: list[Path]) -> None:
        self.place = place
        self.program = program
        self.includes = includes
        self._folder = folder

    def run(self, arguments: Sequence[str]) -> tuple[int, str]:
        """Exit status of p4c, below 0 for a signal, and what it has printed.

        Raises `NotServedError`, and `TimeoutError` if p4c has reached the service's time limit.
        """
        written = self.place / ".arguments"
        written.write_text("".join(f"{each}\n" for each in arguments))
        written.rename(self.place / "arguments")
        alive, since = self._alive(), time.monotonic()
        while not (self.place / "status").exists():
            # Times of files are those of another machine, perhaps: only their change counts.
            if (now := self._alive()) != alive:
                alive, since = now, time.monotonic()
            elif time.monotonic() - since > _GONE_S:
                raise NotServedError(
                    f"The p4c that compiles what is put into {self._folder} has stopped: there is "
                    f"no sign of it for {_GONE_S:g} s (docs/use/bmv2.md)."
                )
            time.sleep(_POLL_S)
        status = int((self.place / "status").read_text())
        if status == _LIMIT_STATUS:
            raise TimeoutError
        report = (self.place / "output").read_text(errors="replace")
        return (_SIGNALS - status if status > _SIGNALS else status), report

    def _alive(self) -> int:
        """When the service has touched `alive`, in nanoseconds; 0 if it is not there."""
        try:
            return (self._folder / "alive").stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def _copy(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place)
