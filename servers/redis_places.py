"""Locations of the records of a shard in Redis: the server and the prefix of the keys.

The server is one for this shard alone, an external one, or a Redis Cluster.

All records of a shard share a hash tag, so that a cluster keeps them in one slot: a batch can then
be read by one MGET and written by one transaction there, too. The tags are chosen so that shards
spread evenly over the slots.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from redis import Redis as Client
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import Connection, UnixDomainSocketConnection
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.retry import Retry

SOCKET = "redis.sock"
"""The name of a server's socket in its directory."""
_SWEEP = 1000
"""Keys that are deleted by one command."""


class Wire(Protocol):
    """The methods of a redis-py connection that the back end uses; redis-py does not type them."""

    def pack_commands(self, commands: Sequence[tuple[bytes | str, ...]]) -> Any:
        """Encodes commands."""

    def send_packed_command(self, command: Any, check_health: bool = ...) -> None:
        """Sends encoded commands."""

    def read_response(self, disable_decoding: bool = ...) -> Any:
        """Reads the answer to one command; raises it if it is an error."""

    def disconnect(self) -> None:
        """Closes the connection."""


class Place(Protocol):
    """The location of the records of one shard. `str()` describes it for users."""

    @property
    def prefix(self) -> bytes:
        """The prefix of all keys."""

    def connect(self, timeout: float) -> Wire:
        """A connection to the server that has the shard now."""

    def wipe(self) -> None:
        """Deletes all records of the shard."""


@dataclass(frozen=True)
class Own:
    """A server for this shard alone, with its socket in `directory`."""

    directory: Path

    @property
    def prefix(self) -> bytes:
        """Empty, since all keys belong to the shard."""
        return b""

    def connect(self, timeout: float) -> Wire:
        """A connection through the socket."""
        with short_path(self.directory) as path:
            return _connected(UnixDomainSocketConnection, path=path, timeout=timeout)

    def wipe(self) -> None:
        """Empties the server."""
        connection = self.connect(5.0)
        try:
            connection.send_packed_command(connection.pack_commands([("FLUSHALL",)]))
            connection.read_response()
        finally:
            connection.disconnect()

    def __str__(self) -> str:
        return f"{self.directory / SOCKET}"


@dataclass(frozen=True)
class Shared:
    """A part of the keys of an external server or cluster."""

    addresses: tuple[str, ...]
    """`host:port`: of the server, or some of the cluster's."""
    cluster: bool
    tag: str
    """Of the shard's records."""

    @property
    def prefix(self) -> bytes:
        """The hash tag."""
        return b"{%s}" % self.tag.encode()

    def connect(self, timeout: float) -> Wire:
        """A connection to the server, or to the one that has the slot now."""
        if not self.cluster:
            host, port = _address(self.addresses[0])
        else:
            with _Cluster(self.addresses, timeout) as cluster:
                node = cluster.get_node_from_key(self.tag)
                if node is None:
                    raise ConnectionError(
                        f"no server of the cluster has slot {key_slot(self.tag.encode())}"
                    )
                host, port = node.host, int(node.port)
        return _connected(Connection, host=host, port=port, timeout=timeout, **credentials())

    def wipe(self) -> None:
        """Deletes the keys with this tag."""
        pattern = self.prefix + b"*"
        if self.cluster:
            with _Cluster(self.addresses, 10.0) as cluster:
                _sweep(cluster, cluster.scan_iter(match=pattern, count=_SWEEP))
            return
        host, port = _address(self.addresses[0])
        with Client(host=host, port=port, **_options(10.0), **credentials()) as client:
            _sweep(client, client.scan_iter(match=pattern, count=_SWEEP))

    def __str__(self) -> str:
        where = " or ".join(self.addresses)
        return f"{where}{' (a cluster)' if self.cluster else ''}, keys of {self.tag}"


@contextlib.contextmanager
def short_path(directory: Path) -> Iterator[str]:
    """A short path of the socket of the server in `directory`.

    A unix socket's path may have 107 bytes; via a descriptor of its directory it has about 30.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def place(document: dict[str, Any]) -> Place:
    """A place from its JSON: {"directory"} or {"addresses", "cluster", "tag"}."""
    if "directory" in document:
        return Own(Path(document["directory"]))
    return Shared(tuple(document["addresses"]), bool(document["cluster"]), str(document["tag"]))


def shared(
    addresses: Sequence[str], cluster: bool, prefix: str, shard: int, shards: int
) -> dict[str, Any]:
    """The JSON of the place of a shard in external servers."""
    chosen = list(addresses) if cluster else [addresses[shard % len(addresses)]]
    return {"addresses": chosen, "cluster": cluster, "tag": tag(prefix, shard, shards)}


def tag(prefix: str, shard: int, shards: int) -> str:
    """The hash tag of a shard. Its slot is in the shard's share of all slots."""
    names = (f"{prefix}:{shard}.{variant}" for variant in itertools.count())
    return next(
        name
        for name in names
        if key_slot(name.encode()) * shards // REDIS_CLUSTER_HASH_SLOTS == shard
    )


def credentials() -> dict[str, Any]:
    """User name and password, if they are in the environment."""
    found = {
        "username": os.environ.get("NETKV_REDIS_USERNAME"),
        "password": os.environ.get("NETKV_REDIS_PASSWORD"),
    }
    return {name: value for name, value in found.items() if value}


class _Cluster(RedisCluster):
    """A client of a cluster, with the options of netkv."""

    def __init__(self, addresses: Sequence[str], timeout: float) -> None:
        node: Any = ClusterNode
        nodes = [node(*_address(address)) for address in addresses]
        super().__init__(
            startup_nodes=nodes,
            require_full_coverage=False,
            retry=Retry(NoBackoff(), 0),
            **_options(timeout, retry=False),
            **credentials(),
        )


def _sweep(client: Any, keys: Iterator[bytes]) -> None:
    while some := list(itertools.islice(keys, _SWEEP)):
        client.unlink(*some)


def _connected(kind: Any, timeout: float, **where: Any) -> Wire:
    connection = kind(**where, **_options(timeout))
    connection.connect()
    found: Wire = connection
    return found


def _options(timeout: float, *, retry: bool = True) -> dict[str, Any]:
    # No retries in redis-py: they could carry out a batch twice. The back end itself handles lost
    # answers.
    options: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "driver_info": None,
    }
    return {**options, "retry": Retry(NoBackoff(), 0)} if retry else options


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
