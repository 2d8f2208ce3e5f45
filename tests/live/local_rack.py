"""A whole rack in one process: switch, servers and clients as threads of the engine.

Without a control plane, `LocalRack` writes the tables of routes and partitions itself. Its method
`cache` adds keys to the cache with INSTALL messages, as a controller does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from netkv import schemes
from netkv._engine import ClientNode, ServerNode, Switch, SwitchNode, write_frame
from netkv.live.ports import free_ports
from netkv.model.messages import CacheMetadata, Message, Op, Status, decode, encode
from netkv.model.nodes import Servers
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, Topology
from netkv.schemes.spec import LabSpec
from netkv.sim.tables import PACKET_HEADER_BYTES
from tests.live.server_nodes import server_config
from tests.waiting import until

if TYPE_CHECKING:
    from netkv._engine import Match, StorageBackend

CLIENT_PORT = 1
SERVER_PORT = 2
OP_OFFSET = 43
UDP_CHECKSUM = slice(40, 42)
"""Offset of the operation in a frame."""

SchemeName = Literal["nocache", "netcache"]


def kv_frame(
    op: int,
    key: bytes,
    request: int,
    source: int,
    destination: int,
    *,
    sender: int,
    cache_metadata: tuple[int, int, int] | None = None,
    stamp: tuple[int, int, int, int] | None = None,
    value: bytes = b"",
) -> bytes:
    """A frame of docs/internals/wire-format.md. `op` may be a number without a meaning."""
    written = write_frame(
        Op.GET,
        key,
        request,
        source,
        destination,
        sender=sender,
        cache_metadata=cache_metadata,
        stamp=stamp,
        length=len(value),
        value=value,
    )
    frame = bytearray(written)
    frame[OP_OFFSET] = op
    frame[UDP_CHECKSUM] = b"\0\0"  # none: that of GET would be wrong
    return bytes(frame)


@cache
def bundle_of(scheme: SchemeName) -> bytes:
    return schemes.get(scheme).compile(LabSpec())


class Names:
    """P4Info ids by the last part of a name."""

    def __init__(self, bundle: bytes) -> None:
        self._program: dict[str, Any] = json.loads(bundle.split(b"\n", 1)[1])["program"]

    def id_of(self, kind: str, name: str) -> int:
        identities = [each["identity"] for each in self._program[kind]]
        found = [i for i in identities if i["name"].split(".")[-1] == name.split(".")[-1]]
        exact = [i for i in found if i["name"].endswith(name)]
        (identity,) = exact
        return int(identity["id"])

    def table(self, name: str) -> int:
        return self.id_of("tables", name)

    def action(self, name: str) -> int:
        return self.id_of("actions", name)


class LocalRack:
    """Nodes of one rack; see `local_rack`."""

    def __init__(
        self,
        scheme: SchemeName,
        *,
        servers: int = 4,
        clients: int = 4,
        keys: int = 10_000,
        workload: dict[str, Any] | None = None,
        service_rate: float | None = None,
        queue_limit: int = 256,
        seed: int = 1,
        deadline_s: float = 2.0,
        store: StorageBackend | None = None,
    ) -> None:
        value_size = (workload or {}).get("value_size", 128)
        self.servers_count = servers
        self.clients_count = clients
        bundle = bundle_of(scheme)
        self.names = Names(bundle)
        self.switch = Switch(bundle, seed=seed)
        self.udp = free_ports(4)
        switch_client, client, switch_server, server = (f"127.0.0.1:{port}" for port in self.udp)
        self.node = SwitchNode(
            self.switch,
            [(CLIENT_PORT, switch_client, client), (SERVER_PORT, switch_server, server)],
            CPU_PORT,
        )
        self.server_config = server_config(
            server,
            switch_server,
            role=schemes.get(scheme).role(Servers),
            partitions=list(range(servers)),
            servers=servers,
            keys=keys,
            value_size=value_size,
            seed=seed,
            service_rate=service_rate,
            queue_limit=queue_limit,
        )
        self.client_config: dict[str, Any] = {
            "bind": client,
            "peer": switch_client,
            "clients": clients,
            "seed": seed,
            "deadline_s": deadline_s,
            "retry_s": 0.05,
            "keyspace": {"servers": servers, "racks": 1, "key_size": 16},
            "workload": {
                "keys": keys,
                "zipf": 0.99,
                "mix": None,
                "writes": 0.0,
                "deletes": 0.0,
                "value_size": value_size,
                "arrivals": {"outstanding": 64},
                "shift": None,
                **(workload or {}),
            },
            "verify": True,
        }
        self.store = store
        self.server = ServerNode(json.dumps(self.server_config))
        self.client = ClientNode(json.dumps(self.client_config))
        self._request = 1

    def start(self) -> None:
        self._fill_tables()
        self.node.start()
        self.server.start(self.store)
        self.client.start()

    def stop(self) -> None:
        self.client.stop()
        self.server.stop()
        self.node.stop()

    def _fill_tables(self) -> None:
        route, forward = self.names.table("route.ipv4"), self.names.action("route.forward")
        ports = [CLIENT_PORT] * self.clients_count, [SERVER_PORT] * self.servers_count
        topology = Topology.of_ports(*ports)
        hosts = [(host.ip, host.port) for host in topology.hosts()]
        for ip, port in (*hosts, (CONTROLLER_IP, CPU_PORT)):
            out = [port.to_bytes(2)]
            self.switch.insert_entry(
                route, [(1, "exact", ip.to_bytes(4))], ("action", forward, out)
            )
        owner, to_owner = self.names.table("owner"), self.names.action("to_owner")
        for part in topology.partitions():
            low, high = part.low.to_bytes(4), part.high.to_bytes(4)
            # A match of all values must be omitted.
            matches: list[Match] = [(1, "range", low, high)] if self.servers_count > 1 else []
            address = [part.owner.mac.to_bytes(6), part.owner.ip.to_bytes(4)]
            self.switch.insert_entry(owner, matches, ("action", to_owner, address), 1)

    def hottest(self, count: int) -> list[bytes]:
        """The most popular keys, hottest first."""
        reply = json.loads(self.client.command(json.dumps({"do": "hottest", "n": count})))
        return [bytes.fromhex(key) for key in reply["keys"]]

    def cache(self, keys: Sequence[bytes], *, bitmap: int = 0xFF) -> None:
        """Insert lookup entries, and send INSTALL until the owners have filled all of them."""
        table, cached = self.names.table("lookup.cache"), self.names.action("lookup.cached")
        waiting: dict[int, bytes] = {}
        for entry, key in enumerate(keys):
            generation = entry + 1
            params = [
                entry.to_bytes(2, "big"),
                entry.to_bytes(2, "big"),
                bytes([bitmap]),
                generation.to_bytes(4, "big"),
            ]
            self.switch.insert_entry(table, [(1, "exact", key)], ("action", cached, params))
            metadata = CacheMetadata(generation, 0, bitmap)
            install = Message(Op.INSTALL, key, self._request, cache_metadata=metadata)
            waiting[self._request] = encode(install)
            self._request += 1

        def all_installed() -> bool:
            for frame in list(waiting.values())[:64]:
                self.node.packet_out(b"\x00\x00" + frame)
            while waiting and (arrived := self.node.wait(0.2)[0]):
                for packet_in in arrived:
                    reply = decode(packet_in[PACKET_HEADER_BYTES:]).message
                    if (reply.op, reply.status) == (Op.INSTALL_REPLY, Status.OK):
                        waiting.pop(reply.request, None)
            return not waiting

        until(all_installed, "all keys are installed")

    def do(self, **command: Any) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(self.client.command(json.dumps(command)))
        return reply

    def run(self, seconds: float, phase: str = "measure") -> dict[str, Any]:
        """Run a phase for some time; returns its sample."""
        self.do(do="phase", name=phase)
        self.client.sample()
        time.sleep(seconds)
        return self.client.sample()

    def run_until(self, **counts: int) -> dict[str, Any]:
        """Measure until each of these counts is reached; returns the sum of the samples."""
        total: dict[str, Any] = {}

        def reached() -> bool:
            for name, value in self.client.sample().items():
                counted = isinstance(value, int | float) and not isinstance(value, bool)
                total[name] = total.get(name, 0) + value if counted else value
            return all(total[name] >= count for name, count in counts.items())

        self.client.sample()  # what was counted before; from here on every operation counts
        self.do(do="phase", name="measure")
        until(reached, f"the counts are {counts}")
        return total

    def finish(self, phase: str) -> dict[str, Any]:
        """Begin "drain" or "verify" and wait for its end; returns the last sample."""
        self.do(do="phase", name=phase)

        def ended() -> dict[str, Any] | None:
            sample: dict[str, Any] = self.client.sample()
            return sample if sample["phase"] == "idle" else None

        return until(ended, f"'{phase}' ends")


@contextmanager
def local_rack(scheme: SchemeName, **options: Any) -> Iterator[LocalRack]:
    """A running rack (options as for `LocalRack`), stopped at the end."""
    rack = LocalRack(scheme, **options)
    rack.start()
    try:
        yield rack
    finally:
        rack.stop()
