"""Planted bugs that the search must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from netkv import resources, schemes
from netkv.control.base import (
    MILLISECOND,
    Action,
    DeleteEntry,
    Digest,
    Event,
    Nanoseconds,
    SwitchRestarted,
    TableWritten,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.model.spec import GenericRack
from netkv.model.topology import Topology
from netkv.schemes import Scheme
from netkv.schemes.netcache.control_plane import LOOKUP, NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from netkv.soak.case import Case
from netkv.soak.run import Outcome, play


def program_that_serves_deleted_values(folder: Path) -> Path:
    """NetCache's program, but a DELETE leaves the entry of its key valid."""
    shipped = resources.path("p4")
    right = "valid.write(meta.entry, 0);"
    wrong = "if (hdr.kv.op != OP_DELETE) { valid.write(meta.entry, 0); }"
    entry = (shipped / "write_through" / "entry.p4").read_text()
    assert entry.count(right) == 1
    (folder / "write_through").mkdir()
    (folder / "write_through" / "entry.p4").write_text(entry.replace(right, wrong))
    program = folder / "netcache.p4"
    program.write_text((shipped / "netcache" / "netcache.p4").read_text())
    return program


class ReusesSlotsEarly(NetCache):
    """Reuses a slot while the switch still answers reads of its previous key."""

    def __init__(
        self, topology: Topology, options: NetCacheOptions, parameters: CacheParameters
    ) -> None:
        super().__init__(topology, options, parameters)
        self._delayed: list[tuple[Nanoseconds, Action]] = []
        self._assumed: set[int] = set()
        self.pending_requests = {}  # so that each reply passes `handle`

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        if isinstance(event, SwitchRestarted):
            self._delayed.clear()
            self._assumed.clear()
        if isinstance(event, TableWritten) and event.write in self._assumed:
            return []
        due = [action for at, action in self._delayed if at <= now]
        self._delayed = [each for each in self._delayed if each[0] > now]
        return [*due, *self._without_deletions(now, super().handle(now, event))]

    def deadline(self) -> Nanoseconds | None:
        times = (super().deadline(), *(at for at, _ in self._delayed))
        return min((time for time in times if time is not None), default=None)

    def _without_deletions(self, now: Nanoseconds, actions: Sequence[Action]) -> Iterator[Action]:
        for action in actions:
            if isinstance(action, DeleteEntry) and action.table == LOOKUP:
                self._delayed.append((now + 50 * MILLISECOND, action))
                self._assumed.add(action.write)
                done = super().handle(now, TableWritten(action.write, ok=True))
                yield from self._without_deletions(now, done)
            else:
                yield action


class Crashes(NetCache):
    """Raises an exception when the first key is hot."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        if isinstance(event, Digest):
            raise RuntimeError("planted")
        return super().handle(now, event)


class ForgetsRestarts(NetCache):
    """Ignores restarts of the switch, which stays empty."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        return [] if isinstance(event, SwitchRestarted) else super().handle(now, event)


def scheme_with(
    control_plane: Callable[[Topology, NetCacheOptions, CacheParameters], NetCache],
) -> Scheme:
    """NetCache with another control plane."""
    right = schemes.get("netcache")

    def make(spec: GenericRack, topology: Topology) -> NetCache:
        made = right.control_plane(spec, topology)
        assert isinstance(made, NetCache)
        return control_plane(topology, made.options, made.parameters)

    return replace(right, control_plane=make)


@dataclass
class InThisProcess:
    """A `Player` that plays cases in this process, with a scheme of the test."""

    scheme: Scheme
    size: int = 1

    def play(self, cases: Iterator[Case]) -> Iterator[tuple[int, Case, Outcome]]:
        for number, case in enumerate(cases):
            yield number, case, play(case, scheme=self.scheme)

    def play_all(self, cases: Sequence[Case]) -> list[Outcome]:
        return [play(case, scheme=self.scheme) for case in cases]
