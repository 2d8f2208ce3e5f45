"""The switch's table `snapshot`, which controls how each ingress pipeline treats writes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from netkv.control.base import Action, DeleteEntry, InsertEntry, ModifyEntry, Nanoseconds
from netkv.control.table_writes import TableWrites

SNAPSHOT = "NetkvIngress.snapshot.snapshot"

Done: TypeAlias = Callable[[Nanoseconds, bool], Iterable[Action]]


class SnapshotTables:
    """The rows of the table: one for each pipeline that is not idle.

    Rules
    -----
    1. A change for several pipelines is done when the switch has confirmed all of its writes. If
       one write is refused, the change counts as refused.
    2. The controller keeps only rows that the switch has confirmed, so that a refused write does
       not make the next one wrong.
    """

    def __init__(self, writes: TableWrites) -> None:
        self._writes = writes
        self._rows: set[int] = set()

    def clear(self) -> None:
        """The switch has lost its state: all pipelines are idle."""
        self._rows.clear()

    def redirect(self, now: Nanoseconds, pipelines: Sequence[int], done: Done) -> Iterator[Action]:
        """Redirect writes that arrive in these pipelines to pipeline 0."""
        return self._write(now, pipelines, "redirect", {}, done)

    def taking(
        self, now: Nanoseconds, pipelines: Sequence[int], number: int, done: Done
    ) -> Iterator[Action]:
        """Mark packets that arrive in these pipelines as after the point of snapshot `number`."""
        return self._write(now, pipelines, "taking", {"number": number}, done)

    def idle(self, now: Nanoseconds, done: Done) -> Iterator[Action]:
        """Delete all rows: no snapshot is being taken."""
        return self._write(now, sorted(self._rows), "", {}, done)

    def _write(
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
                self._rows.add(pipeline)
            else:
                self._rows.discard(pipeline)
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
            elif pipeline in self._rows:
                write = ModifyEntry(number, SNAPSHOT, match, name, params)
            else:
                write = InsertEntry(number, SNAPSHOT, match, name, params)
            yield writes.give(write, partial(written, pipeline))
