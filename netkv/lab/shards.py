"""Where the storage servers of a rack keep their records in Redis: one shard for each server.

A shard is a redis-server that belongs to the rack (a node of it, `redis-0`, ...), or a part of the
keys of servers that somebody else runs (`lab.redis.addresses`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from netkv.errors import NetkvError
from netkv.lab.process import NodeProcess
from netkv.lab.redis_server import RedisServer
from netkv.lab.spec import LabSpec

_NAME = "redis-"


def names(lab: LabSpec) -> tuple[str, ...]:
    """The redis-servers that belong to a rack: `redis-0` has the records of server 0."""
    if lab.backend != "redis" or lab.redis.addresses:
        return ()
    return tuple(f"{_NAME}{server}" for server in range(lab.servers))


def is_shard(name: str) -> bool:
    """Whether a node is a redis-server."""
    return name.startswith(_NAME)


class Shards:
    """The shards of a rack, by storage server."""

    def __init__(self, lab: LabSpec, data: Callable[[str], Path]) -> None:
        """`data` is where a node may keep files."""
        self._lab = lab
        self._data = data
        self.names = names(lab)

    def server(
        self,
        name: str,
        log: Path,
        on_exit: Callable[[NodeProcess], None],
        on_note: Callable[[str], object],
    ) -> RedisServer:
        """The redis-server of that name, to be started."""
        return RedisServer(name, self._data(name), self._lab.redis.fsync, log, on_exit, on_note)

    def places(self, servers: Iterable[int]) -> list[dict[str, Any]]:
        """Where these servers find their records (`redis_places.place`); empty without Redis."""
        if self._lab.backend != "redis":
            return []
        return [self._place(server) for server in servers]

    def wipe(self, servers: Iterable[int], running: Callable[[str], bool]) -> None:
        """Deletes the records of these servers. Takes a while; raises NetkvError."""
        from redis.exceptions import RedisClusterException, RedisError

        from netkv.servers.redis_places import place

        for server in servers:
            name = f"{_NAME}{server}"
            if name in self.names and not running(name):
                shutil.rmtree(self._data(name), ignore_errors=True)
                continue
            where = place(self._place(server))
            try:
                where.wipe()
            except (RedisError, RedisClusterException, OSError) as error:
                raise NetkvError(f"Redis at {where} cannot be emptied: {error}") from error

    @property
    def foreign(self) -> bool:
        """Whether the records are in servers that somebody else runs."""
        return self._lab.backend == "redis" and not self.names

    def _place(self, server: int) -> dict[str, Any]:
        from netkv.servers.redis_places import shared

        if self.names:
            return {"directory": str(self._data(f"{_NAME}{server}"))}
        redis = self._lab.redis
        return shared(redis.addresses, redis.cluster, redis.prefix, server, self._lab.servers)
