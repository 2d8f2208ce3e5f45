"""The order of commands in a pipeline: those with a common key wait, unless both only read.

A command about all keys (DBSIZE) counts as a read of each key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

Task = asyncio.Task[Any]


@dataclass
class _Lane:
    """The pending commands of one key."""

    write: Task | None = None
    """The last write."""
    reads: set[Task] = field(default_factory=set)
    """The reads after it."""


class KeyOrder:
    """The pending commands of one connection, by key."""

    def __init__(self) -> None:
        self._lanes: dict[bytes, _Lane] = {}
        self._readers_of_all: set[Task] = set()

    def before(self, keys: Collection[bytes] | None, writes: bool) -> set[Task]:
        """The pending commands that a new command with these keys (None: all keys) waits for."""
        if keys is None:
            return {lane.write for lane in self._lanes.values() if lane.write is not None}
        found = set(self._readers_of_all) if writes else set()
        for key in keys:
            lane = self._lanes.get(key)
            if lane is not None:
                if lane.write is not None:
                    found.add(lane.write)
                if writes:
                    found |= lane.reads
        return found

    def enter(self, task: Task, keys: Collection[bytes] | None, writes: bool) -> None:
        """Add a command; it comes after all commands that were added before."""
        if keys is None:
            self._readers_of_all.add(task)
            return
        for key in keys:
            lane = self._lanes.setdefault(key, _Lane())
            if writes:
                # It waits for the reads, so later commands need to wait only for it.
                lane.write = task
                lane.reads.clear()
            else:
                lane.reads.add(task)

    def leave(self, task: Task, keys: Collection[bytes] | None) -> None:
        """Remove a command that has ended."""
        if keys is None:
            self._readers_of_all.discard(task)
            return
        for key in keys:
            lane = self._lanes.get(key)
            if lane is None:
                continue
            lane.reads.discard(task)
            if lane.write is task:
                lane.write = None
            if lane.write is None and not lane.reads:
                del self._lanes[key]
