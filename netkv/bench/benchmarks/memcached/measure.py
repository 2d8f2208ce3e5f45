"""The benchmark `netkv bench memcached`: a real memcached on this machine, beside a UDP echo.

The load is GETs of memcached's binary protocol over UDP, one in a datagram, each for a stored key
of 16 bytes, as in the scenarios with FPGA cards. memcached has one thread on one core, and the load
another core, if there are two. The echo is a node with netkv's sockets that returns as many bytes
as a reply has: it shows the share of the kernel. Both take short turns in rounds, so that other
load of the machine affects them equally; a figure is the median of its turns.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from netkv import kinds
from netkv.bench import stores
from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.memcached import Plan
from netkv.bench.end_to_end import ROUNDS, Contender, DatagramTurn, Turn, on_core, paired
from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError
from netkv.live.ports import free_ports

if TYPE_CHECKING:
    from netkv import _engine

WINDOW = 64
"""Requests outstanding while the rate is measured."""
_FRAME = struct.Struct(">HHHH")
"""Header of each datagram: request, number of the datagram, number of datagrams, 0."""
_OPERATION = struct.Struct(">BBHBBHIIQ")
_FLAGS_BYTES = 4
_QUERIES = 4096


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Model):
    """Figures of one server: medians of its turns, if nothing else is said."""

    name: str
    requests_per_s: float
    """Wall time, with `WINDOW` requests outstanding."""
    best_requests_per_s: float
    """The same in the best turn, which other work of the machine has disturbed the least."""
    core_us: float
    """Time on a core for a request, kernel included, at that load."""
    p50_us: float
    """Latency of the only request outstanding."""
    p99_us: float


class Measured(_Model):
    """The document."""

    machine: Machine
    entries: int
    value_size: int
    outstanding: int
    rows: list[Row]
    core_to_echo: float
    """Core time of memcached to that of the echo: the median of the ratios within a round. Wall
    times of the two have no such ratio: other work of the machine decides it."""


def run(plan: Plan, progress: Progress) -> Measured:
    """Measures; raises `NetkvError`, for instance if memcached is not installed."""
    with contextlib.ExitStack() as stack:
        contenders = memcached, echo = [_memcached(plan, stack), _echo(plan, stack)]
        for number in range(ROUNDS):
            progress(number, ROUNDS, f"round {number + 1}")
            for contender in contenders:
                contender.loaded.append(contender.measure(WINDOW, plan.seconds / ROUNDS))
            for contender in contenders:
                contender.single.append(contender.measure(1, plan.seconds / ROUNDS / 2))
    progress(ROUNDS, ROUNDS, "")
    return Measured(
        machine=this_machine(),
        entries=plan.entries,
        value_size=plan.value_size,
        outstanding=WINDOW,
        rows=[_row(contender) for contender in contenders],
        core_to_echo=paired(memcached.loaded, echo.loaded, lambda turn: turn.core_ns or 0.0),
    )


def read(file: Path) -> Measured:
    """The document of an earlier run; raises `NetkvError` if it is none."""
    try:
        return Measured.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        why = kinds.first(error) if isinstance(error, ValidationError) else error
        raise NetkvError(f"{file} is no document of this benchmark: {why}.") from error


def _row(contender: Contender) -> Row:
    return Row(
        name=contender.name,
        requests_per_s=round(median(turn.pps for turn in contender.loaded)),
        best_requests_per_s=round(max(turn.pps for turn in contender.loaded)),
        core_us=_us([turn.core_ns for turn in contender.loaded]),
        p50_us=_us([turn.ns_p50 for turn in contender.single]),
        p99_us=_us([turn.ns_p99 for turn in contender.single]),
    )


def _us(nanoseconds: Sequence[float | None]) -> float:
    return round(median(each for each in nanoseconds if each is not None) / 1000, 2)


def queries(plan: Plan) -> list[bytes]:
    """GETs of stored keys, drawn uniformly; the payloads of their datagrams."""
    draw = Random(7)
    return [_query(number, stores.key(draw.randrange(plan.entries))) for number in range(_QUERIES)]


def reply_bytes(plan: Plan) -> int:
    """Bytes of the payload of a hit's reply."""
    return _FRAME.size + _OPERATION.size + _FLAGS_BYTES + plan.value_size


def _query(number: int, key: bytes) -> bytes:
    operation = _OPERATION.pack(0x80, 0, len(key), 0, 0, 0, len(key), number, 0)
    return _FRAME.pack(number, 0, 1, 0) + operation + key


def _echo(plan: Plan, stack: contextlib.ExitStack) -> Contender:
    from netkv import _engine

    here, there = (f"127.0.0.1:{number}" for number in free_ports(2))
    node = _engine.EchoNode([(1, here, there)], reply_bytes(plan), trains=False)
    stack.callback(node.stop)
    load = _engine.DatagramLoad(there, here, queries(plan), reply_bytes(plan), trains=False)
    with on_core(-1):
        node.start()
    return Contender(
        name="UDP echo",
        program="echo",
        path="get",
        executor="udp-echo",
        value_size=plan.value_size,
        measure=DatagramTurn(node, load),
    )


def _memcached(plan: Plan, stack: contextlib.ExitStack) -> Contender:
    from netkv import _engine

    with on_core(-1):
        server = stack.enter_context(stores.memcached(plan.entries, plan.value_size, udp=True))
    (own,) = free_ports(1)
    load = _engine.DatagramLoad(
        f"127.0.0.1:{own}",
        f"127.0.0.1:{server.port}",
        queries(plan),
        reply_bytes(plan),
        trains=False,
    )
    return Contender(
        name="memcached, 1 thread",
        program="memcached",
        path="get",
        executor="memcached",
        value_size=plan.value_size,
        measure=MemcachedTurn(server, load),
    )


@dataclass(frozen=True)
class MemcachedTurn:
    """Loads a memcached whose replies are all hits."""

    server: stores.Memcached
    load: _engine.DatagramLoad

    def __call__(self, window: int, seconds: float) -> Turn:
        before = self.server.core_ns()
        with on_core(0):
            seen = self.load.run(window, seconds)
        spent = self.server.core_ns() - before
        if seen["wrong"]:
            raise NetkvError(f"{seen['wrong']} replies of memcached are no hits: wrong length.")
        return Turn(
            pps=seen["replies"] / seen["seconds"],
            ns_p50=seen["ns_p50"],
            ns_p99=seen["ns_p99"],
            core_ns=spent / seen["replies"] if seen["replies"] else None,
        )
