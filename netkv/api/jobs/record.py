"""A job on disk.

    $NETKV_HOME/jobs/ID/job.json, scenario.yaml (of an own scenario), log, result.json,
                        steps.json (of a benchmark or tool)

A job survives its server: the process runs in a session of its own, and the next server finds it by
pid, start time and boot. Changes are made under one lock, since several servers may have the same
directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from netkv.api.models.jobs import ACTIVE, JobKind, JobState
from netkv.errors import NetkvError
from netkv.home import home
from netkv.processes import Identity

KEPT = 200
"""Ended jobs that are kept; older ones are removed. Their runs stay in the store."""
_TAIL_LINES = 12
_TAIL_BYTES = 16_384


@dataclass
class Record:
    """The content of job.json."""

    id: str
    title: str
    request: dict[str, Any]
    command: list[str]
    store: str
    """URL of the run store, without a password."""
    created_at: float
    """Seconds since the epoch, in increasing order: the order of the queue."""
    expected_seconds: float | None = None
    kind: JobKind = "scenario"
    state: JobState = "queued"
    started_at: float | None = None
    finished_at: float | None = None
    process: Identity | None = None
    stopping_since: float | None = None
    """When it was asked to stop."""
    ok: bool | None = None
    error: str | None = None

    @property
    def directory(self) -> Path:
        """The directory of the job."""
        return directory() / self.id

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state in ACTIVE

    def save(self) -> None:
        """Replaces job.json atomically. The caller holds the lock."""
        # Private: a request may be anything that its author runs.
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.directory / "job.json"
        draft = target.with_suffix(".json.new")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(target)

    def result(self) -> dict[str, Any] | None:
        """The document that the command printed; None without a complete one."""
        try:
            found = json.loads((self.directory / "result.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def steps_file(self) -> Path:
        """Where a benchmark or tool writes its steps (`netkv.steps`)."""
        return self.directory / "steps.json"

    def log(self, most_bytes: int = _TAIL_BYTES) -> str:
        """The end of what the command printed on stderr."""
        try:
            with (self.directory / "log").open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - most_bytes))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def log_tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log().splitlines()[-_TAIL_LINES:])


def directory() -> Path:
    """The directory of all jobs."""
    return home() / "jobs"


_read: dict[Path, tuple[tuple[int, int], Record]] = {}
"""Jobs as they were last read: each look at the processes reads all of them."""


def load(job_id: str) -> Record | None:
    """The job of that id; None if there is none or its file is damaged."""
    file = directory() / job_id / "job.json"
    try:
        found = file.stat()
        # `save` makes a new file each time.
        stamp = (found.st_ino, found.st_mtime_ns)
        known = _read.get(file)
        if known is None or known[0] != stamp:
            data = json.loads(file.read_text(encoding="utf-8"))
            process = data.pop("process")
            record = Record(**data, process=None if process is None else Identity(**process))
            known = _read[file] = (stamp, record)
        return replace(known[1])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        _read.pop(file, None)
        return None


def all_records() -> list[Record]:
    """All jobs, oldest first."""
    try:
        names = [entry.name for entry in directory().iterdir() if entry.is_dir()]
    except OSError:
        return []
    found = [record for name in names if (record := load(name)) is not None]
    return sorted(found, key=lambda record: (record.created_at, record.id))


def forget_old() -> None:
    """Removes the oldest ended jobs beyond `KEPT`. The caller holds the lock."""
    ended = [record for record in all_records() if not record.active]
    for record in ended[:-KEPT]:
        shutil.rmtree(record.directory, ignore_errors=True)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Holds the lock of all jobs."""
    with _lock(directory() / "lock", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def scheduling() -> Iterator[bool]:
    """Whether this process is the one that starts jobs, until the block ends.

    It is refused while another server of the same directory does. The kernel drops the lock when
    its process dies.
    """
    try:
        with _lock(directory() / "scheduler", fcntl.LOCK_EX | fcntl.LOCK_NB):
            yield True
    except BlockingIOError:
        yield False


@contextlib.contextmanager
def _lock(file: Path, operation: int) -> Iterator[None]:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NetkvError(
            f"netkv cannot use its state directory '{home()}': {error.strerror}. "
            f"Set NETKV_HOME to a directory that can be written."
        ) from error
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)
