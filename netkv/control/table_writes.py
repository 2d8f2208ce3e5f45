"""Table writes without an answer, and the callback of each."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, Note, TableWrite, TableWritten

Done: TypeAlias = Callable[[Nanoseconds, bool], Iterable[Action]]
"""Called when a write is done (True) or refused (False)."""


class TableWrites:
    """Table writes to a switch without an answer.

    Rules
    -----
    1. A write is done when the switch has confirmed it: then all pipelines have it.
    2. A refused write is noted and not repeated: the program or the topology is wrong.
    """

    def __init__(self, next_write: Callable[[], int], switch: str = "") -> None:
        """`next_write` returns a new number for each write."""
        self.next = next_write
        self.switch = switch
        """Name of the switch, for actions."""
        self.waiting: dict[int, tuple[TableWrite, Done]] = {}
        """Writes without an answer, by number."""
        self.refused = 0

    def give(self, write: TableWrite, done: Done) -> TableWrite:
        """Register the callback; returns the write, for the driver."""
        self.waiting[write.write] = (write, done)
        return write

    def on_written(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A write is answered; nothing happens if it is not registered here."""
        found = self.waiting.pop(written.write, None)
        if found is None:
            return ()
        write, done = found
        if written.ok:
            return done(now, True)
        self.refused += 1
        table = getattr(write, "table", type(write).__name__)
        note = Note("table write refused", {"table": table, "error": written.error})
        return (note, *done(now, False))

    def clear(self) -> None:
        """The switch has restarted: it will not answer earlier writes."""
        self.waiting.clear()
