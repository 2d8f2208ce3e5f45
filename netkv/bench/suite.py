"""All benchmarks that say how fast netkv is, one after the other: `netkv bench`.

Each is measured as its own command measures it, and its whole document is part of the result. Its
main figures come with the goals of the project, where there are any. Racks of other sizes, sweeps
and benchmarks that describe something else (a design for FPGAs, memcached, multigets, network
interfaces) have commands of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.bench import (
    data_plane,
    end_to_end,
    gateway,
    redis_store,
    rocksdb_costs,
    simulator,
    startup,
    stores,
)
from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError
from netkv.labs import daemon
from netkv.schemes.spec import RackSpec

_FEW_ENTRIES = 100
_ROCKSDB = rocksdb_costs.Plan(records=300_000, filled_memtables=0)
"""Fewer records than usual, and no full memtables: these take minutes."""

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the step that begins (from 0), the number of steps, and a label."""


class Figure(BaseModel):
    """A main figure of a benchmark, a ratio if it has no unit; and its goal, if it has one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most


class Part(BaseModel):
    """The result of one benchmark, or the sentence why there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    benchmark: str
    """Its command, below `netkv`."""
    figures: list[Figure] = []
    document: dict[str, Any] | None = None
    """What the command prints with `--json`."""
    left_out: list[str] = []
    """Sentences about what was not measured, because a program is not installed."""
    failed: str | None = None
    """The sentence of the error with which it ended."""


class Suite(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    parts: list[Part]

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class Plan:
    """Parameters of all benchmarks."""

    seconds: float | None = None
    """Seconds of load for each row; None for what is usual in each benchmark."""

    def load(self, usual: float) -> float:
        """Seconds of load for each row of a benchmark with this usual value."""
        return usual if self.seconds is None else self.seconds


Measure: TypeAlias = Callable[[Plan, Progress], Part]


def run(name: str, plan: Plan, progress: Progress) -> Part:
    """Measures one of `BENCHMARKS`; an error is in the result, so that others can be measured."""
    try:
        return BENCHMARKS[name](plan, progress)
    except stores.NotInstalledError as error:
        return Part(benchmark=name, left_out=[str(error)])
    except NetkvError as error:
        return Part(benchmark=name, failed=str(error))


def document(parts: Sequence[Part]) -> Suite:
    """The document of these results."""
    return Suite(machine=this_machine(), parts=list(parts))


def _data_plane(plan: Plan, progress: Progress) -> Part:
    planned = data_plane.plan(data_plane.programs([]), None, (), plan.load(0.5))
    few = [
        replace(case, entries=_FEW_ENTRIES)
        for case in planned.cases
        if data_plane.is_yardstick(case.program.name, case.path)
    ]
    found = data_plane.run(replace(planned, cases=(*planned.cases, *few)), progress)
    return Part(
        benchmark="p4 bench", figures=[*data_plane_figures(found)], document=found.to_json()
    )


def data_plane_figures(found: data_plane.DataPlaneBenchmark) -> Iterator[Figure]:
    """The main ratio of each path, and the times of table writes."""
    for (program, path, entries, *_), executors in data_plane.by_case(found.results).items():
        few = entries == _FEW_ENTRIES
        name = f"{program} {path}{f', {entries} entries' if few else ''}: compiled/"
        by_hand = data_plane.ratio_to(executors, "handwritten")
        if by_hand is not None:
            yardstick = data_plane.is_yardstick(program, path)
            goal = (0.6 if few else 0.75) if yardstick else 0.5
            yield Figure(name=f"{name}by hand", value=by_hand, at_least=goal)
        elif (ratio := data_plane.ratio_to(executors, "interpreter")) is not None:
            yield Figure(name=f"{name}interpreter", value=ratio)
    for each in found.table_writes:
        name = f"{each.program}: {each.entries:,} entries through P4Runtime"
        yield Figure(name=name, value=each.seconds, unit="s", at_most=0.25)


def _end_to_end(plan: Plan, progress: Progress) -> Part:
    program = schemes.default().program_path.stem
    found = end_to_end.run(end_to_end.Plan(program, seconds=plan.load(3.0)), progress)
    goals = {"throughput_to_echo": 0.9, "throughput_to_echo_with_trains": 0.75}
    return Part(
        benchmark="bench e2e",
        figures=_ratios(found.benchmark.ratios, goals),
        document=found.benchmark.to_json(),
        left_out=found.left_out,
    )


def _simulator(plan: Plan, progress: Progress) -> Part:
    """The usual racks only: those beside which their program runs alone."""
    rows = [row for row in simulator.plan([], [], [], plan.load(2.0)) if row.beside_program]
    found = simulator.run(rows, progress)
    figures = [
        Figure(name=name, value=found.ratios[name], at_most=rack_goal(row))
        for row in rows
        if (name := simulator.ratio_name(row, rows)) in found.ratios
    ]
    figures += [
        Figure(name=name, value=found.ratios[name])
        for row in rows
        if (name := simulator.speed_name(row.case)) in found.ratios
    ]
    return Part(benchmark="bench sim", figures=figures, document=found.to_json())


def rack_goal(row: simulator.Row) -> float | None:
    """The goal for a rack with skewed keys and one switch, relative to its program alone."""
    scheme = schemes.get(row.case.scheme)
    if row.case.zipf == 0 or scheme.topology.kind != "rack":
        return None
    if scheme.traits.caches:
        return 3.0
    return 5.0 if scheme is schemes.all_schemes()[0] else None


def _gateway(plan: Plan, progress: Progress) -> Part:
    """In a lab of its own, which it takes down again."""
    stores.find_program("redis-benchmark", "redis-tools")
    lab = f"bench-{os.getpid()}"
    try:
        daemon.up(lab, RackSpec(scheme=schemes.default().name))
        found = gateway.run(gateway.Plan(lab, seconds=plan.load(3.0)), progress)
    finally:
        daemon.down(lab)
    goals = {name: 0.3 if "pipelined" in name else 0.5 for name in found.ratios}
    return Part(
        benchmark="bench gateway", figures=_ratios(found.ratios, goals), document=found.to_json()
    )


def _redis(plan: Plan, progress: Progress) -> Part:
    stores.find_program("redis-server", "redis-server")
    found = redis_store.run(redis_store.Plan(plan.load(2.0)), progress)
    return Part(benchmark="bench redis", figures=_ratios(found.ratios), document=found.to_json())


def _rocksdb(_: Plan, progress: Progress) -> Part:
    found = rocksdb_costs.run(_ROCKSDB, progress)
    hot, *others = found.rows
    figures = [
        Figure(name=f"{row.operation}, {row.record} / read, hot", value=row.p10_us / hot.p10_us)
        for row in others
    ]
    return Part(benchmark="bench rocksdb", figures=figures, document=found.model_dump(mode="json"))


def _startup(_: Plan, progress: Progress) -> Part:
    found = startup.run(startup.Plan(), progress)
    figures = [
        Figure(name=f"{name} / {startup.BARE}", value=ratio) for name, ratio in found.ratios.items()
    ]
    figures += [
        Figure(name=name, value=found.seconds[name], unit="s", at_most=goal)
        for name, goal in startup.GOALS.items()
    ]
    return Part(benchmark="bench startup", figures=figures, document=found.to_json())


def _ratios(ratios: Mapping[str, float], at_least: Mapping[str, float] = {}) -> list[Figure]:
    """Ratios of a document; `at_least` has goals by name."""
    return [
        Figure(name=name.replace("_", " "), value=ratio, at_least=at_least.get(name))
        for name, ratio in ratios.items()
    ]


BENCHMARKS: dict[str, Measure] = {
    "p4 bench": _data_plane,
    "bench e2e": _end_to_end,
    "bench sim": _simulator,
    "bench gateway": _gateway,
    "bench redis": _redis,
    "bench rocksdb": _rocksdb,
    "bench startup": _startup,
}
"""By their commands, below `netkv`."""
