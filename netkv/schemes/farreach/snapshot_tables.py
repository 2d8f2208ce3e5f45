"""The switch's table `snapshot`: what each ingress pipeline does with writes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from netkv.control.base import Action, DeleteEntry, InsertEntry, ModifyEntry, Nanoseconds
from netkv.control.table_writes import TableWrites

SNAPSHOT = "NetkvIngress.snapshot.snapshot"

Done: TypeAlias = Callable[[Nanoseconds, bool], Iterable[Action]]


class SnapshotTables:
    """One row for each pipeline that is not idle.

    Rules
    -----
    1. What was told to several pipelines at once counts when all have confirmed it; if one was
       refused, all of it was.
    2. A row is known from what the switch has confirmed, so a refused write does not make the next
       one wrong.
    """

    def __init__(self, writes: TableWrites) -> None:
        self._writes = writes
        self._there: set[int] = set()

    def clear(self) -> None:
        """The switch has lost everything: all pipelines are idle."""
        self._there.clear()

    def redirect(self, now: Nanoseconds, pipelines: Sequence[int], done: Done) -> Iterator[Action]:
        """Writes that come in there pass pipeline 0."""
        return self._tell(now, pipelines, "redirect", {}, done)

    def taking(
        self, now: Nanoseconds, pipelines: Sequence[int], number: int, done: Done
    ) -> Iterator[Action]:
        """What comes in there is after the point of snapshot `number`."""
        return self._tell(now, pipelines, "taking", {"number": number}, done)

    def idle(self, now: Nanoseconds, done: Done) -> Iterator[Action]:
        """No snapshot is being taken."""
        return self._tell(now, sorted(self._there), "", {}, done)

    def _tell(
        self,
        now: Nanoseconds,
        pipelines: Sequence[int],
        action: str,
        params: Mapping[str, int],
        done: Done,
    ) -> Iterator[Action]:
        if not pipelines:
            yield from done(now, True)
            return
        waiting = set(pipelines)
        refused: list[int] = []

        def written(pipeline: int, now: Nanoseconds, ok: bool) -> Iterator[Action]:
            if not ok:
                refused.append(pipeline)
            elif action:
                self._there.add(pipeline)
            else:
                self._there.discard(pipeline)
            waiting.discard(pipeline)
            if not waiting:
                yield from done(now, not refused)

        writes = self._writes
        for pipeline in pipelines:
            number, match = writes.next(), {"pipeline": pipeline}
            name = f"NetkvIngress.snapshot.{action}"
            write: InsertEntry | ModifyEntry | DeleteEntry
            if not action:
                write = DeleteEntry(number, SNAPSHOT, match)
            elif pipeline in self._there:
                write = ModifyEntry(number, SNAPSHOT, match, name, params)
            else:
                write = InsertEntry(number, SNAPSHOT, match, name, params)
            yield writes.give(write, partial(written, pipeline))
