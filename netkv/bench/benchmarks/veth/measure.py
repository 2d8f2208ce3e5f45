"""The benchmark `netkv bench veth`: a switch between network interfaces, beside an echo.

Each ring has a cable (a veth pair) for the switch and one for the echo, which has the same ring and
loop and no program. At the other end of each cable is the load, in a namespace of its own, with a
ring of `AF_PACKET`. All take short turns in rounds, so that other load of the machine affects them
equally; a ratio is the median of the ratios within a round.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.veth import Plan
from netkv.bench.data_plane import RECORDED_BMV2_PPS
from netkv.bench.end_to_end import (
    PATH,
    ROUNDS,
    Contender,
    DatagramTurn,
    latency,
    on_core,
    paired,
    rate,
    result_of,
)
from netkv.bench.result import Document, this_machine
from netkv.bench.table_writes import YARDSTICK
from netkv.errors import UsageError, suggest
from netkv.live.veth import Host, VethFabric
from netkv.model.topology import CPU_PORT
from netkv.switch.ports import Ring

if TYPE_CHECKING:
    from netkv import _engine

VALUE_SIZE = 128
_LOAD_RING: Ring = "packet"
"""Ring of the load's ends of the cables: it delivers frames at once, and every kernel has it."""


RINGS: tuple[Ring, ...] = get_args(Ring)


@dataclass(frozen=True)
class VethBenchmark:
    """The document, and sentences for the terminal only."""

    benchmark: Document
    left_out: list[str]
    """Sentences about rings that could not be measured."""


def _rings(plan: Plan) -> tuple[Ring, ...]:
    """The rings to measure. Raises `UsageError` for an unknown name."""
    for name in plan.ring or []:
        if name not in RINGS:
            raise UsageError(f"There is no ring '{name}'. {suggest(name, RINGS, label='Rings')}")
    return tuple(ring for ring in RINGS if not plan.ring or ring in plan.ring)


def run(plan: Plan, progress: Progress) -> VethBenchmark:
    """Measures everything. Raises `NetkvError` where namespaces cannot be made."""
    rings = _rings(plan)
    progress(0, ROUNDS + 1, f"filling {plan.entries:,} entries")
    left_out: list[str] = []
    with contextlib.ExitStack() as stack:
        hosts = [
            Host(f"{kind}-{ring}", number, f"10.0.{number}.1/24", f"02:00:00:00:00:{number:02x}")
            for number, (kind, ring) in enumerate(
                [(kind, ring) for ring in rings for kind in ("echo", "switch")], start=1
            )
        ]
        fabric = stack.enter_context(VethFabric(f"bench{os.getpid()}", hosts))
        pairs = list(_pairs(plan, fabric, stack, left_out))
        for turn in range(ROUNDS):
            progress(1 + turn, ROUNDS + 1, f"round {turn + 1}")
            everyone = [contender for pair in pairs for contender in pair]
            for contender in everyone:
                turned = contender.measure(plan.outstanding, plan.seconds / ROUNDS)
                contender.loaded.append(turned)
            for contender in everyone:
                contender.single.append(contender.measure(1, plan.seconds / ROUNDS / 2))
    progress(ROUNDS + 1, ROUNDS + 1, "")
    results = [result_of(contender, plan.entries) for pair in pairs for contender in pair]
    benchmark = Document(machine=this_machine(), results=results, ratios=_ratios(pairs))
    return VethBenchmark(benchmark, left_out)


def _ratios(pairs: Sequence[tuple[Contender, Contender]]) -> dict[str, float]:
    ratios = {}
    for echo, switch in pairs:
        ring = switch.name
        ratios[f"{ring}: throughput to the same ring without a program"] = paired(
            switch.loaded, echo.loaded, rate
        )
        ratios[f"{ring}: latency to the same ring without a program"] = paired(
            switch.single, echo.single, latency
        )
        middle = sorted(turn.pps for turn in switch.loaded)[len(switch.loaded) // 2]
        ratios[f"{ring}: throughput to bmv2 as it was recorded"] = round(
            middle / RECORDED_BMV2_PPS, 3
        )
    return ratios


def _pairs(
    plan: Plan, fabric: VethFabric, stack: contextlib.ExitStack, left_out: list[str]
) -> Iterator[tuple[Contender, Contender]]:
    """Echo and switch of each ring that this kernel has."""
    from netkv import _engine

    switch, (traffic,) = _engine.filled_switch(
        YARDSTICK, PATH, "compiled", plan.entries, VALUE_SIZE
    )
    reply, port = traffic["leave_bytes"], traffic["port"]
    cables = iter(fabric.hosts)
    for ring in _rings(plan):
        pair = []
        for kind in ("echo", "switch"):
            cable = next(cables)
            ports = [(port, ring, fabric.port(cable.port))]
            node: _engine.EchoNode | _engine.SwitchNode
            try:
                if kind == "echo":
                    node = _engine.EchoNode(ports, reply)
                else:
                    node = _engine.SwitchNode(switch, ports, CPU_PORT)
            except OSError as error:
                left_out.append(f"Left out: {error}.")
                continue
            stack.callback(node.stop)
            interface = fabric.interface(cable.name)
            load = _engine.DatagramLoad(_LOAD_RING, interface, traffic["frames"], reply)
            with on_core(-1):
                node.start()
            pair.append(
                Contender(
                    name=ring,
                    program=YARDSTICK,
                    path=f"{PATH}-{ring}",
                    executor="veth-echo" if kind == "echo" else "compiled",
                    value_size=VALUE_SIZE,
                    measure=DatagramTurn(node, load),
                )
            )
        if len(pair) == 2:
            yield pair[0], pair[1]
