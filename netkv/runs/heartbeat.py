"""Signs of life of the processes that write to a shared store.

Another host cannot look for a process, so each process writes the time of the database into its
groups (`groups.seen_at`) every `BEAT_SECONDS`. A group that was not seen for `SILENT_SECONDS` is
abandoned: its runs in progress are marked as failed. If its process lives after all (it was stopped
or had no network), the next sample marks its run as running again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection

from sqlalchemy.exc import SQLAlchemyError

from netkv.errors import NetkvError

BEAT_SECONDS = 10.0
SILENT_SECONDS = 60.0


class Heartbeat:
    """A thread that reports the groups which this process writes; it runs while there are any."""

    def __init__(self, beat: Callable[[Collection[str]], None]) -> None:
        """`beat` writes the sign of life of groups."""
        self._beat = beat
        self._groups: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def add(self, group: str) -> None:
        """Report a group from now on."""
        with self._lock:
            if not self._groups:
                self._ended = threading.Event()
                threading.Thread(
                    target=self._run, args=(self._ended,), name="heartbeat", daemon=True
                ).start()
            self._groups.add(group)

    def remove(self, group: str) -> None:
        """Report a group no longer."""
        with self._lock:
            self._groups.discard(group)
            if not self._groups:
                self._ended.set()

    def close(self) -> None:
        """Report no group any more."""
        with self._lock:
            self._groups.clear()
            self._ended.set()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(BEAT_SECONDS):
            with self._lock:
                groups = sorted(self._groups)
            # Without its database a process has nothing to report to; the next beat may have it.
            with contextlib.suppress(NetkvError, SQLAlchemyError):
                self._beat(groups)
