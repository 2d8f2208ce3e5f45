"""Measures the control channel of a live switch: table writes and packets through gRPC.

The switch is a separate process, as in a lab; this process is the controller.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from finsy.proto import p4r

from netkv.control.forwarding import ROUTE
from netkv.control.probes import Probes
from netkv.errors import NetkvError
from netkv.live.ports import free_ports
from netkv.live.process import NodeProcess
from netkv.model.messages import encode
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, KEY_BYTES
from netkv.p4rt import entities
from netkv.p4rt.client import P4RuntimeClient
from netkv.schemes import Scheme, parts
from netkv.schemes.spec import LabSpec

_SINGLE = 200
"""Number of round trips, one after the other."""
_MANY = 2_000
"""Messages under way at once, as far as the channel allows."""
_TURNS = 5
_TIMEOUT = 20.0


@dataclass(frozen=True)
class ControlTimes:
    """Median round trips in microseconds; rates per second."""

    write: float
    """From a table write to its answer."""
    packet: float
    """From a packet-out to the packet-in that answers it."""
    writes_per_s: float
    """Table writes in one request."""
    packets_per_s: float
    """Packet-outs, each answered by a packet-in."""


async def measure(scheme: Scheme) -> ControlTimes:
    """Measures a switch, which it starts and stops, with the program of a scheme with `probes`.

    Raises `NetkvError`.
    """
    probes = parts.probes(scheme)
    assert probes is not None, "the scheme has probes"
    program = scheme.compile(LabSpec())
    here, peer, grpc = (f"127.0.0.1:{port}" for port in free_ports(3))
    with tempfile.TemporaryDirectory(prefix="netkv-calibrate-") as folder:
        bundle = Path(folder) / "program.bundle"
        bundle.write_bytes(program)
        config = {
            "bundle": str(bundle),
            "seed": 1,
            "executor": "compiled",
            "pipelines": 1,
            "ports": [[1, here, peer]],
            "cpu_port": CPU_PORT,
            "links": [],
            "p4runtime": grpc,
        }
        node = NodeProcess("switch", "switch", config, Path(folder) / "log", lambda _: None)
        await node.spawn()
        try:
            await node.configure()
            async with P4RuntimeClient(grpc) as client:
                await client.set_pipeline(program)
                return await _Channel(client, probes).measure()
        finally:
            await node.stop()


class _Channel:
    def __init__(self, client: P4RuntimeClient, probes: Probes) -> None:
        self._client = client
        self._probes = probes
        self._keys = 0
        self._requests = 0

    async def measure(self) -> ControlTimes:
        names = self._client.names
        to_controller = entities.Call("NetkvIngress.route.forward", {"port": CPU_PORT})
        route = names.table_entry(ROUTE, {"dst": CONTROLLER_IP}, to_controller)
        await self._client.write([entities.insert(route)])
        for _ in range(_SINGLE // 4):  # warm-up, not timed
            await self._client.write(self._inserts(1))
        writes, packets = [], []
        for _ in range(_SINGLE):
            writes.append(await self._timed_write(1))
            packets.append(await self._timed_packets(1))
        many_writes = [_MANY / await self._timed_write(_MANY) for _ in range(_TURNS)]
        many_packets = [_MANY / await self._timed_packets(_MANY) for _ in range(_TURNS)]
        return ControlTimes(
            median(writes) * 1e6, median(packets) * 1e6, median(many_writes), median(many_packets)
        )

    async def _timed_write(self, count: int) -> float:
        start = time.perf_counter()
        await self._client.write(self._inserts(count))
        return time.perf_counter() - start

    async def _timed_packets(self, count: int) -> float:
        """From the first packet-out to the last packet-in."""
        frames = [self._echo() for _ in range(count)]
        start = time.perf_counter()
        try:
            async with asyncio.timeout(_TIMEOUT):
                receiving = asyncio.create_task(self._receive(count))
                for frame in frames:
                    await self._client.packet_out(frame)
                await receiving
        except TimeoutError:
            raise NetkvError(
                f"The switch has not answered {count} packet-outs within {_TIMEOUT:g} s."
            ) from None
        return time.perf_counter() - start

    async def _receive(self, count: int) -> None:
        packets = self._client.packets()
        for _ in range(count):
            await anext(packets)

    def _inserts(self, count: int) -> Sequence[bytes]:
        updates = []
        for _ in range(count):
            self._keys += 1
            entry = self._probes.entry(self._keys, self._keys.to_bytes(KEY_BYTES))
            updates.append(self._client.encoder.encode(entry))
        return updates

    def _echo(self) -> p4r.PacketOut:
        """A request that the switch answers without a server."""
        self._requests += 1
        frame = encode(self._probes.echo(self._requests), CONTROLLER_IP)
        return self._client.names.packet_out(frame, {"egress_port": 0, "pad": 0})
