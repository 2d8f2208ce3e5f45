"""Runs switch, server and client of a live rack as threads of this process, and measures them.

The nodes are those of the engine, connected by sockets as in a lab. No controller runs, so this
module writes tables and cached keys. Processor time is that of a node's thread, so other processes
do not change it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkv.control.base import TableWrite
from netkv.errors import NetkvError
from netkv.live.ports import free_ports
from netkv.model.messages import Status, decode, encode
from netkv.model.nodes import Servers
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.model.topology import CPU_PORT, Topology
from netkv.rack.load import keyspace, load_config
from netkv.schemes import Scheme, parts
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables

if TYPE_CHECKING:
    from netkv import _engine

KEYS = 20_000
CACHED = 64
_CLIENT_PORT, _SERVER_PORT = 1, 100
_INSTALL_TIMEOUT = 10.0
_INSTALL_RETRY = 0.1
_DRAIN_TIMEOUT = 5.0
_TRIES = 50
"""Turns until one has an answer."""
_LAB = LabSpec(servers=1, hot_threshold=64)


@dataclass(frozen=True)
class Turn:
    """Results of a turn of load; times are in microseconds."""

    operations: int
    latency: float
    """Median, from the intended send time."""
    client: float
    """Processor time of the client per operation."""
    server: float
    """Processor time of the server per operation."""
    switch: float
    """Processor time of the switch per packet."""


class LiveNodes:
    """The nodes; `running` creates them."""

    def __init__(self, scheme: Scheme) -> None:
        """`scheme` must have `probes`."""
        from netkv import _engine

        self._scheme = scheme
        probes = parts.probes(scheme)
        assert probes is not None, "the scheme has probes"
        self._probes = probes
        program = scheme.compile(_LAB)

        here, self._client, there, server = (f"127.0.0.1:{port}" for port in free_ports(4))
        self._switch_port = here
        self._switch = _engine.Switch(program)
        ports = [(_CLIENT_PORT, here, self._client), (_SERVER_PORT, there, server)]
        self._node = _engine.SwitchNode(self._switch, ports, CPU_PORT)
        spec = RackSpec(scheme=scheme.name, lab=_LAB)
        config = {
            "bind": server,
            "peer": there,
            "role": scheme.role(Servers),
            "partitions": [0],
            "keyspace": keyspace(spec, scheme),
            "keys": KEYS,
            "value_size": 128,
            "seed": 1,
            "service_rate": None,
            "queue_limit": 256,
        }
        self._server = _engine.ServerNode(json.dumps(config))
        self._tables = Tables(self._switch, program)
        topology = Topology.of_ports([_CLIENT_PORT], [_SERVER_PORT])
        for write in scheme.control_plane(spec, topology).tables():
            self._write(write)

    def start(self) -> None:
        """Starts switch and server."""
        self._node.start()
        self._server.start()

    def stop(self) -> None:
        """Stops them and closes their sockets."""
        self._server.stop()
        self._node.stop()

    def turn(self, seconds: float, workload: Mapping[str, Any], outstanding: int) -> Turn:
        """Runs a load with `outstanding` requests; `workload`: fields of `WorkloadSpec`."""
        client = self._new_client(workload, outstanding)
        try:
            client.start()
            _do(client, "measure")
            time.sleep(seconds / 4)
            client.sample()
            for _ in range(_TRIES):
                before = self._times()
                time.sleep(seconds)
                after = self._times()
                seen = client.sample()
                # A busy machine may not have let the nodes run at all.
                if int(seen["completed"]):
                    break
            _do(client, "drain")
            _idle(client)
        finally:
            client.stop()
        operations = int(seen["completed"])
        if operations == 0:
            raise NetkvError(
                "The nodes of a live rack have answered nothing. 'netkv doctor' may help."
            )
        packets = after.packets - before.packets
        return Turn(
            operations,
            seen["latency_ns"]["p50"] / 1e3,
            (after.client - before.client) / operations / 1e3,
            (after.server - before.server) / operations / 1e3,
            (after.switch - before.switch) / packets / 1e3,
        )

    def cache(self) -> None:
        """Caches all keys of a workload with `CACHED` keys, as a controller would."""
        waiting: dict[int, bytes] = {}
        for number, key in enumerate(self._hottest(CACHED), start=1):
            self._write(self._probes.entry(number, key))
            message = self._probes.install(number, key)
            waiting[number] = bytes(PACKET_HEADER_BYTES) + encode(message)
        self._install(waiting)

    def _install(self, waiting: dict[int, bytes]) -> None:
        """Sends the frames in `waiting` until all are answered; `waiting` is empty then."""
        deadline = time.monotonic() + _INSTALL_TIMEOUT
        while waiting:
            if time.monotonic() > deadline:
                raise NetkvError(f"{len(waiting)} keys could not be cached.")
            for frame in waiting.values():
                self._node.packet_out(frame)
            pause = time.monotonic() + _INSTALL_RETRY
            while waiting and (rest := pause - time.monotonic()) > 0:
                for packet in self._node.wait(rest)[0]:
                    reply = decode(packet[PACKET_HEADER_BYTES:]).message
                    if reply.status is Status.OK:
                        waiting.pop(reply.request, None)

    def _hottest(self, count: int) -> list[bytes]:
        client = self._new_client({"keys": count}, 1)
        try:
            reply = client.command(json.dumps({"do": "hottest", "n": count}))
        finally:
            client.stop()
        return [bytes.fromhex(key) for key in json.loads(reply)["keys"]]

    def _new_client(self, workload: Mapping[str, Any], outstanding: int) -> _engine.ClientNode:
        from netkv import _engine

        load = WorkloadSpec(**workload, arrivals=ClosedLoop(outstanding=outstanding))
        spec = RackSpec(scheme=self._scheme.name, lab=_LAB, workload=load)
        ends = {"bind": self._client, "peer": self._switch_port}
        config = ends | load_config(spec, self._scheme)
        return _engine.ClientNode(json.dumps(config))

    def _write(self, write: TableWrite) -> None:
        if refused := self._tables.carry_out(write, 0):
            raise NetkvError(f"The switch refuses a table write: {refused}")

    def _times(self) -> _Times:
        switch = self._node.statistics()
        threads = _threads()
        packets = switch["received"]
        return _Times(threads["client node"], threads["server node"], switch["cpu_ns"], packets)


@dataclass(frozen=True)
class _Times:
    """Processor times so far in nanoseconds, and packets of the switch."""

    client: int
    server: int
    switch: int
    packets: int


@contextmanager
def running(scheme: Scheme) -> Iterator[LiveNodes]:
    """Running nodes, stopped at the end."""
    nodes = LiveNodes(scheme)
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.stop()


def _threads() -> dict[str, int]:
    """Processor time in nanoseconds of the threads of this process, by name.

    The threads of several nodes have the same name. Idle nodes add nothing to a difference of two
    calls.
    """
    found: Counter[str] = Counter()
    for task in Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            found[name] += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # the thread has ended meanwhile
    return found


def _do(client: _engine.ClientNode, phase: str) -> None:
    client.command(json.dumps({"do": "phase", "name": phase}))


def _idle(client: _engine.ClientNode) -> None:
    deadline = time.monotonic() + _DRAIN_TIMEOUT
    while client.sample()["phase"] != "idle" and time.monotonic() < deadline:
        time.sleep(0.005)
