"""Helpers of the traps of DistReach (`test_distreach_*_traps.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netkv.control.base import MILLISECOND, Nanoseconds, Preload
from netkv.model.messages import Op, Status
from tests.schemes import traps
from tests.schemes.distreach.distreach_rack import CONFIGURATION, Rack, Switch, System
from tests.schemes.scripted_rack import Hop, key_of

KEYS = [key_of(number) for number in range(24)]
KEY = KEYS[0]
LOST = "an acknowledged write is lost"
STALE = "a stale read"
UNREAD = "a value that was read is lost"
TWICE = "a copy of a write undoes a later one"
UNSERVED = "not served by the cache"
SILENT = "no answer"

Script = Callable[[type[System]], str]
"""Runs a scenario; returns the harm to a user, "" for none."""


def make_rack(
    system: type[System], *, layers: int = 2, width: int = 1, seed: int = 0, **options: Any
) -> Rack:
    """A rack whose servers have the value "first" of each key."""
    rack = Rack(system, layers, width, seed, configuration=CONFIGURATION.changed(**options))
    for key in KEYS:
        rack.store(key, b"first")
    return rack


def cached_rack(system: type[System], **options: Any) -> Rack:
    """A rack that has cached KEY in all switches of its chain, with a dirty record. Both clients
    know the incarnation."""
    rack = ready_rack(system, preload=(KEY,), **options)
    rack.put(1, KEY, b"cached")
    return rack


def ready_rack(system: type[System], *, preload: tuple[bytes, ...] = (), **options: Any) -> Rack:
    """A rack that serves, and whose clients know the incarnation."""
    rack = make_rack(system, **options).start(preload=preload)
    for process in rack.processes.values():
        process.incarnation = rack.control.statistics()["incarnation"]
    return rack


def read(rack: Rack, client: int = 2, key: bytes = KEY) -> bytes | str | None:
    """The value, None if there is none, or `SILENT`."""
    reply = rack.run_operation(client, Op.GET, key).reply
    if reply is None:
        return SILENT
    return None if reply.status is Status.NOT_FOUND else reply.value


def admit(rack: Rack, key: bytes = KEY) -> None:
    """Begin to cache a key, and run for some time."""
    rack.handle(Preload((key,)))
    rack.run(10 * MILLISECOND)


def evict(rack: Rack, key: bytes = KEY, *, duration: Nanoseconds = 10 * MILLISECOND) -> None:
    """Begin to evict a key, and run for some time."""
    chain = next(each for each in rack.control._all if each._index.of_key(key) is not None)
    entry = chain._index.of_key(key)
    assert entry is not None
    chain._queue.evict(entry.generation)
    rack.handle(Preload(()))
    rack.run(duration)


def between(source: str | Switch, to: str | Switch, *ops: Op) -> Callable[[Hop], bool]:
    """Whether a frame is of one of these operations and on its way from here to there."""
    ends = tuple(end if isinstance(end, str) else end.name for end in (source, to))
    return lambda hop: (hop.source, hop.to) == ends and hop.op in ops


def check(script: Script, *mutants: tuple[type[System], str]) -> None:
    """The complete system does no harm; each mutant does the harm named with it."""
    traps.check(script, System, *mutants)
