"""Measures this machine, and makes the profile `this-machine` of it.

Rules
-----
1. Everything is measured through the nodes of a live rack, in short turns that alternate; a figure
   is the median of its turns.
2. What a frame or an operation costs is time on a core with `WINDOW` requests outstanding: it shows
   how much a node can do, and batches are part of that.
3. What a request takes is measured with one outstanding. What of it the costs do not explain is
   the way: the kernel, and the wake-up of a thread that sleeps. It becomes the delay of the links.
4. Nothing is adjusted: docs/simulator.md describes how the model uses each figure.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.lab import redis_server
from netkv.lab.ports import free_ports
from netkv.sim import live_control, live_nodes
from netkv.sim.models import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    StoreModel,
    SwitchModel,
    constant,
)

if TYPE_CHECKING:
    from netkv import _engine

WINDOW = 64
"""Requests outstanding while costs are measured: the default of scenarios."""
_ECHO_WINDOW = 4 * WINDOW
"""The lean load sends a quarter of its window at once, the client of a closed loop all of it."""
TURNS = 5
SECONDS = 0.3
"""Of each turn."""
STORE_BATCH = 16
"""Operations that a back end gets at once while it is measured."""
_STORE_KEYS = 20_000
_STORE_VALUE = bytes(128)
_FRAME = bytes(200)
_ENGINE_WRITE_GAP = 10.0
"""Microseconds from pipeline to pipeline in the P4Runtime server: a call into the engine."""
_LINK_GBPS = 40.0
"""Sockets have no bandwidth to speak of."""

Progress = Callable[[int, int, str], None]
"""Hears which step of how many begins, from 0, and what it is."""


class Figures(BaseModel):
    """What was measured. Microseconds (on a core, where it is a cost) and rates per second."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    echo_round_trip: float
    """Loopback UDP to a sleeping thread that answers, and back to one that sleeps; median."""
    echo_frame: float
    """Cost of a frame to a node without a program: received, and one sent for it."""
    switch_packet: float
    """Cost of a packet."""
    switch_single_packet: float
    """The same if it is the only one: no batch, and a wake-up for it alone."""
    client_operation: float
    """Cost of an operation: a request sent, and its reply received and checked."""
    server_get: float
    """Cost of an operation, its frames included."""
    server_put: float
    server_delete: float
    hit_round_trip: float
    """Latency of the only read outstanding, answered by the switch; median."""
    miss_round_trip: float
    """The same, answered by the server behind it."""
    write_round_trip: float
    """A table write by P4Runtime, to its answer."""
    packet_round_trip: float
    """A packet-out, to the packet-in that answers it."""
    writes_per_s: float
    packets_per_s: float
    backends: dict[str, StoreModel]
    """Of those that are installed: time of an operation in a batch of `STORE_BATCH`."""


def measure(progress: Progress, *, turns: int = TURNS, seconds: float = SECONDS) -> Figures:
    """Measures everything, `turns` turns of `seconds` each. Raises `NetkvError`."""
    count = turns + 2
    progress(0, count, "starting the nodes of a live rack")
    scheme = next(each for each in schemes.all_schemes() if each.probes is not None)
    seen: dict[str, list[float]] = {}
    with (
        _echo() as echo,
        live_nodes.running(scheme) as read,
        live_nodes.running(scheme) as written,
    ):
        read.cache()
        for turn in range(turns):
            progress(turn, count, f"nodes and frames, turn {turn + 1} of {turns}")
            for name, value in _turn(echo, read, written, seconds):
                seen.setdefault(name, []).append(value)
    progress(turns, count, "control channel")
    control = asyncio.run(live_control.measure(scheme))
    progress(turns + 1, count, "storage back ends")
    figures = Figures(
        **{name: round(median(values), 4) for name, values in seen.items()},
        write_round_trip=round(control.write, 1),
        packet_round_trip=round(control.packet, 1),
        writes_per_s=round(control.writes_per_s),
        packets_per_s=round(control.packets_per_s),
        backends=dict(_backends(turns)),
    )
    progress(count, count, "done")
    return figures


def profile_of(figures: Figures) -> Profile:
    """The profile of a machine with these figures. docs/simulator.md explains each line."""
    client = figures.client_operation
    server = (figures.server_get, figures.server_put, figures.server_delete)
    frames = min(figures.echo_frame, *server)
    get, put, delete = (cost - frames for cost in server)
    single = figures.switch_single_packet
    # What the costs do not explain of a hit is the way between client and switch, and what a miss
    # takes longer is the way between switch and server.
    to_switch = (figures.hit_round_trip - client - single) / 2
    to_server = (figures.miss_round_trip - figures.hit_round_trip - figures.server_get - single) / 2
    rate = min(figures.writes_per_s, figures.packets_per_s)
    half_way = (figures.write_round_trip + figures.packet_round_trip) / 4
    return Profile(
        title="This machine, which runs the live lab on loopback, as 'netkv calibrate' found it",
        client=HostModel(receive=_cost(client / 2), send=_cost(client / 2), queue=65_536),
        server=ServerModel(
            receive=_cost(frames / 2),
            send=_cost(frames / 2),
            get=_cost(get),
            put=_cost(put),
            delete=_cost(delete),
            queue=4096,
        ),
        client_link=_cable(to_switch),
        server_link=_cable(to_server),
        switch_link=_cable((to_switch + to_server) / 2),
        switch=SwitchModel(
            latency=round(single, 3),
            packet_rate=round(1e6 / figures.switch_packet),
            parallel=False,
            queue_packets=4096,
            recirculation_gbps=10,
            table_write_gap=_ENGINE_WRITE_GAP,
        ),
        control=ControlModel(latency=round(max(half_way - 1e6 / rate, 0.0), 1), rate=rate),
        backends=figures.backends,
    )


def _cable(delay: float) -> LinkModel:
    return LinkModel(bandwidth_gbps=_LINK_GBPS, delay=round(max(delay, 0.0), 3), queue_kib=2048)


def _cost(microseconds: float) -> Any:
    return constant(round(microseconds, 4))


# Frames


def _turn(
    echo: _Echo, read: live_nodes.LiveNodes, written: live_nodes.LiveNodes, seconds: float
) -> Iterator[tuple[str, float]]:
    """A turn of each kind of load; figures by the names of `Figures`.

    A client knows nothing of what an earlier one wrote and would take it for wrong, so what is
    `read` is never written.
    """
    yield "echo_round_trip", echo.round_trip(seconds)
    yield "echo_frame", echo.frame(seconds)
    load, write = partial(read.turn, seconds), partial(written.turn, seconds)
    yield "hit_round_trip", (hit := load({"keys": live_nodes.CACHED}, 1)).latency
    yield "miss_round_trip", (miss := load({"keys": live_nodes.KEYS}, 1)).latency
    yield "switch_single_packet", (hit.switch + miss.switch) / 2
    hit, miss = load({"keys": live_nodes.CACHED}, WINDOW), load({"keys": live_nodes.KEYS}, WINDOW)
    yield "switch_packet", (hit.switch + miss.switch) / 2
    yield "client_operation", (hit.client + miss.client) / 2
    yield "server_get", miss.server
    yield "server_put", write({"keys": live_nodes.KEYS, "writes": 1.0}, WINDOW).server
    yield "server_delete", write({"keys": live_nodes.KEYS, "deletes": 1.0}, WINDOW).server


class _Echo:
    """A node without a program, and a load for it."""

    def __init__(self, node: _engine.EchoNode, load: _engine.DatagramLoad) -> None:
        self._node = node
        self._load = load

    def round_trip(self, seconds: float) -> float:
        """Microseconds, median."""
        return (self._load.run(1, seconds)["ns_p50"] or 0) / 1e3

    def frame(self, seconds: float) -> float:
        """Microseconds of the node's core for a frame in and a frame out."""
        before = self._node.statistics()
        self._load.run(_ECHO_WINDOW, seconds)
        after = self._node.statistics()
        return (after["cpu_ns"] - before["cpu_ns"]) / (after["received"] - before["received"]) / 1e3


@contextlib.contextmanager
def _echo() -> Iterator[_Echo]:
    from netkv import _engine

    here, there = (f"127.0.0.1:{port}" for port in free_ports(2))
    node = _engine.EchoNode([(1, here, there)], len(_FRAME))
    try:
        node.start()
        # As many as may leave together: what the load sends at once ends with the last of them.
        frames = [_FRAME] * _ECHO_WINDOW
        yield _Echo(node, _engine.DatagramLoad(there, here, frames, len(_FRAME)))
    finally:
        node.stop()


# Storage back ends


def _backends(turns: int) -> Iterator[tuple[str, StoreModel]]:
    """Those that are installed, beside the store in memory, which is a part of the server node."""
    with contextlib.suppress(ImportError):
        from netkv.servers.rocksdb import RocksDB

        with tempfile.TemporaryDirectory(prefix="netkv-calibrate-") as folder:
            store = RocksDB(folder)
            try:
                yield "rocksdb", _store_times(store, turns)
            finally:
                store.close()
    with contextlib.suppress(ImportError), tempfile.TemporaryDirectory() as folder:
        from netkv.servers.redis import Redis
        from netkv.servers.redis_places import Own

        if shutil.which("redis-server") is None:
            return
        with redis_server.running(Path(folder), "always"):
            redis = Redis(Own(Path(folder)), timeout=10.0)
            try:
                yield "redis", _store_times(redis, turns)
            finally:
                redis.close()


def _store_times(store: _engine.StorageBackend, turns: int) -> StoreModel:
    """Time of an operation, as the server's loop waits for it: flushes to the disk included."""
    keys = [number.to_bytes(16, "big") for number in range(_STORE_KEYS)]
    for start in range(0, len(keys), 1000):
        store.execute([("put", key, _STORE_VALUE) for key in keys[start : start + 1000]])
    batches = [keys[start :: _STORE_KEYS // STORE_BATCH] for start in range(8)]
    times: dict[str, list[float]] = {"put": [], "get": [], "delete": []}
    for _ in range(turns):
        for kind, found in times.items():
            value = _STORE_VALUE if kind == "put" else None
            for batch in batches:
                found.append(_timed(store, [(kind, key, value) for key in batch]))
    return StoreModel(**{kind: _cost(median(found)) for kind, found in times.items()})


def _timed(
    store: _engine.StorageBackend, batch: Sequence[tuple[str, bytes, bytes | None]]
) -> float:
    start = time.perf_counter()
    store.execute(list(batch))
    return (time.perf_counter() - start) / len(batch) * 1e6
