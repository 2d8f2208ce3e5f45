"""Table writes that were given to the switch, and what follows when they are done."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, Note, TableWrite, TableWritten

Done: TypeAlias = Callable[[Nanoseconds, bool], Iterable[Action]]
"""What follows from a write, which was done or refused."""


class Writes:
    """Writes that are not answered.

    Rules
    -----
    1. A write counts as done when the switch says so: then the last pipeline has it.
    2. A refused write is noted and not repeated: program or topology are at fault.
    """

    def __init__(self, next_write: Callable[[], int]) -> None:
        """`next_write` gives numbers, each once."""
        self.next = next_write
        self._waiting: dict[int, tuple[str, Done]] = {}
        self.refused = 0

    def give(self, write: TableWrite, done: Done) -> TableWrite:
        """Remember what follows; returns the write, to be handed to the driver."""
        self._waiting[write.write] = (getattr(write, "table", type(write).__name__), done)
        return write

    def on_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A write was answered; nothing happens if it is none of these."""
        found = self._waiting.pop(written.write, None)
        if found is None:
            return
        table, done = found
        if not written.ok:
            self.refused += 1
            yield Note("table write refused", {"table": table, "error": written.error})
        yield from done(now, written.ok)

    def clear(self) -> None:
        """The switch has lost everything: what was not answered never will be."""
        self._waiting.clear()
