"""Settings of the switch: sampling, epoch, open or closed, and its incarnation."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG002

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds, SetDefault
from netkv.control.table_writes import TableWrites

SETTINGS = "NetkvIngress.settings.settings"
INCARNATION_TABLE = "NetkvEgress.incarnation.current"

Done: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    sample_below: int
    hot_threshold: int
    epoch: int = 0
    open: int = 0


class SwitchSettings:
    """The default actions of two tables.

    Rules
    -----
    1. A change takes effect when the switch has confirmed it: then all pipelines have it.
    2. At most one write of `settings` is under way. The next write contains all later changes.
    """

    def __init__(self, writes: TableWrites, sample_rate: float, hot_threshold: int) -> None:
        self._writes = writes
        self._fresh = _Wanted(round(sample_rate * 65_536), hot_threshold)
        self.clear()

    def clear(self) -> None:
        """The switch has restarted: it is closed and has no incarnation."""
        self._wanted = self._fresh
        self._written: _Wanted | None = None
        self._under_way = False
        self._when_open: Done | None = None
        self.incarnation = 0
        """The incarnation of the switch; 0 before it has one."""
        self.is_open = False
        """Whether the switch has confirmed that it is open."""

    def set_epoch(self, epoch: int) -> None:
        """Set the statistics epoch."""
        self._wanted = replace(self._wanted, epoch=epoch)

    def open(self, done: Done) -> None:
        """Let the switch accept requests of clients; then call `done`."""
        self._wanted = replace(self._wanted, open=1)
        self._when_open = done

    def set_incarnation(self, incarnation: int, done: Done) -> Iterator[Action]:
        """Set the incarnation, which must have been saved; then call `done`."""

        def written(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            if ok:
                self.incarnation = incarnation
                yield from done(now)

        write = SetDefault(
            write=self._writes.next(),
            table=INCARNATION_TABLE,
            action="NetkvEgress.incarnation.set",
            params={"incarnation": incarnation},
        )
        yield self._writes.give(write, written)

    def pump(self, now: Nanoseconds) -> Iterable[Action]:
        """Write the settings if they have changed."""
        wanted = self._wanted
        if wanted is self._written or self._under_way:  # nearly always
            return ()
        if wanted == self._written or not (wanted.epoch or wanted.open):
            return ()
        self._under_way = True

        def written(now: Nanoseconds, ok: bool) -> Iterator[Action]:
            self._under_way = False
            if ok and wanted.open and self._when_open is not None:
                self.is_open = True
                done, self._when_open = self._when_open, None
                yield from done(now)

        self._written = wanted
        write = SetDefault(
            write=self._writes.next(),
            table=SETTINGS,
            action="NetkvIngress.settings.configure",
            params={
                "sample_below": wanted.sample_below,
                "hot_threshold": wanted.hot_threshold,
                "epoch": wanted.epoch,
                "open": wanted.open,
            },
        )
        return (self._writes.give(write, written),)
