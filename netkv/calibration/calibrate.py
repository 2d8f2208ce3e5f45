"""Measures this machine, and derives the profile `this-machine` from the figures.

Rules
-----
1. Everything is measured through the nodes of a live rack, in short turns that alternate. A figure
   is the median of its turns.
2. The cost of a frame or an operation is processor time, measured with `WINDOW` requests
   outstanding. It determines the throughput of a node, so it includes the effect of batches.
3. The latency of a request is measured with one request outstanding. The part of it that is not
   cost is spent in the kernel and on waking sleeping threads. It becomes the delay of the links.
4. Nothing is adjusted: docs/use/simulator.md describes how the model uses each figure.
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
from netkv.calibration import control_channel as live_control
from netkv.calibration import nodes as live_nodes
from netkv.live import redis_server
from netkv.live.ports import free_ports
from netkv.model.profile import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    StoreModel,
    SwitchModel,
    constant,
)
from netkv.schemes import parts

if TYPE_CHECKING:
    from netkv import _engine

WINDOW = 64
"""Requests outstanding while costs are measured: the default of scenarios."""
_ECHO_WINDOW = 4 * WINDOW
"""Window of `DatagramLoad`. It sends a quarter of its window at once, a client with a closed loop
all of it."""
TURNS = 5
SECONDS = 0.3
"""Duration of a turn."""
STORE_BATCH = 16
"""Operations in a batch for a back end."""
_STORE_KEYS = 20_000
_STORE_VALUE = bytes(128)
_FRAME = bytes(200)
_ENGINE_WRITE_GAP = 10.0
"""Microseconds from pipeline to pipeline in the P4Runtime server: a call into the engine."""
_LINK_GBPS = 40.0
"""A nominal bandwidth: sockets do not limit it noticeably."""

Progress = Callable[[int, int, str], None]
"""Called with the number of the step that begins (from 0), the number of steps, and its name."""


class Figures(BaseModel):
    """The results. Times and costs are microseconds, rates per second; a cost is processor time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    echo_round_trip: float
    """Median round trip of a loopback UDP datagram between two sleeping threads."""
    echo_frame: float
    """Cost of a frame for a node without a program: receive it and send one back."""
    switch_packet: float
    """Cost of a packet."""
    switch_single_packet: float
    """Cost of a packet that arrives alone: no batch, and a wake-up for each packet."""
    client_operation: float
    """Cost of an operation: send a request, receive and check its reply."""
    server_get: float
    """Cost of an operation, including its frames."""
    server_put: float
    server_delete: float
    hit_round_trip: float
    """Median latency of a read that the switch answers, with one request outstanding."""
    miss_round_trip: float
    """Median latency of a read that the server answers, with one request outstanding."""
    write_round_trip: float
    """Time from a table write by P4Runtime to its answer."""
    packet_round_trip: float
    """Time from a packet-out to the packet-in that answers it."""
    writes_per_s: float
    packets_per_s: float
    backends: dict[str, StoreModel]
    """Time of an operation in a batch of `STORE_BATCH`, for each installed back end."""


def measure(progress: Progress, *, turns: int = TURNS, seconds: float = SECONDS) -> Figures:
    """Measures all figures, with `turns` turns of `seconds` each. Raises `NetkvError`."""
    count = turns + 2
    progress(0, count, "starting the nodes of a live rack")
    scheme = next(each for each in schemes.all_schemes() if parts.probes(each) is not None)
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
    """The profile of a machine with these figures. docs/use/simulator.md explains each line."""
    client = figures.client_operation
    server = (figures.server_get, figures.server_put, figures.server_delete)
    frames = min(figures.echo_frame, *server)
    get, put, delete = (cost - frames for cost in server)
    single = figures.switch_single_packet
    # The latency of a hit beyond its costs is the delay between client and switch. A miss takes
    # longer by its costs at the server and the delay between switch and server.
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
    """Runs one turn of each kind of load; yields figures by their names in `Figures`.

    A client does not know the writes of earlier clients and would report their values as wrong. So
    no client writes to the nodes in `read`.
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
    """A node without a program, and a load generator for it."""

    def __init__(self, node: _engine.EchoNode, load: _engine.DatagramLoad) -> None:
        self._node = node
        self._load = load

    def round_trip(self, seconds: float) -> float:
        """Median round trip in microseconds."""
        return (self._load.run(1, seconds)["ns_p50"] or 0) / 1e3

    def frame(self, seconds: float) -> float:
        """Processor time of the node for a received and a sent frame, in microseconds."""
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
        # The load sends frames at once only up to the end of this list, so it has a whole window.
        frames = [_FRAME] * _ECHO_WINDOW
        yield _Echo(node, _engine.DatagramLoad(there, here, frames, len(_FRAME)))
    finally:
        node.stop()


# Storage back ends


def _backends(turns: int) -> Iterator[tuple[str, StoreModel]]:
    """The times of each installed back end. The store in memory is part of the server node."""
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
    """Time for which the server's loop waits for an operation, including flushes to the disk."""
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
