"""The shards of a rack in Redis: each contains the records of one storage server.

A shard is a redis-server of the rack (its nodes `redis-0`, ...), or a part of the keys of Redis
servers outside the rack (`lab.redis.addresses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from netkv.errors import NetkvError
from netkv.live.machine import Machine
from netkv.live.process import NodeProcess
from netkv.live.redis_server import RedisServer
from netkv.model.nodes import RedisServer as RedisNode
from netkv.model.nodes import redis_servers
from netkv.schemes.spec import LabSpec


class Shards:
    """The shards of a rack, by storage server."""

    def __init__(self, lab: LabSpec, data: Callable[[str], Path]) -> None:
        """`data` returns the directory for a node's files."""
        self._lab = lab
        self._data = data
        self._own = redis_servers(lab)
        """Servers whose shard is a redis-server of the rack."""

    def new_server(
        self,
        server: int,
        log: Path,
        on_exit: Callable[[NodeProcess], None],
        on_note: Callable[[str], object],
        machine: Machine,
    ) -> RedisServer:
        """Creates, but does not start, the redis-server for the records of a storage server."""
        fsync = self._lab.redis.fsync
        name, directory = _name(server), self.directory(server)
        return RedisServer(name, directory, fsync, log, on_exit, on_note, machine)

    def places(self, servers: Iterable[int]) -> list[dict[str, Any]]:
        """Locations of these servers' records (`redis_places.place`); empty without Redis."""
        if self._lab.backend != "redis":
            return []
        return [self._place(server) for server in servers]

    def wipe(self, server: int) -> None:
        """Deletes the records of a server, whose redis-server runs.

        It may take long. Raises NetkvError.
        """
        from redis.exceptions import RedisClusterException, RedisError

        from netkv.servers.redis_places import place

        where = place(self._place(server))
        try:
            where.wipe()
        except (RedisError, RedisClusterException, OSError) as error:
            raise NetkvError(f"Redis at {where} cannot be emptied: {error}") from error

    @property
    def external(self) -> bool:
        """Whether the records are in Redis servers outside the rack."""
        return self._lab.backend == "redis" and not self._own

    def _place(self, server: int) -> dict[str, Any]:
        from netkv.servers.redis_places import shared

        if self._own:
            return {"directory": self.directory(server)}
        redis = self._lab.redis
        return shared(redis.addresses, redis.cluster, redis.prefix, server, self._lab.servers)

    def directory(self, server: int) -> Path:
        """Where the redis-server of a storage server keeps its records."""
        return self._data(_name(server))


def _name(server: int) -> str:
    """Name of the node with the records of a storage server."""
    return f"{RedisNode.NAME}{server}"
