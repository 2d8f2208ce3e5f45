"""The benchmark `netkv p4 bench`: packets per second of each path of each program, in memory.

The engine measures (engine/bench); this module selects the cases and makes the document of their
results. docs/internals/benchmarks.md explains how to read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict

from netkv import _engine, resources
from netkv.bench import table_writes
from netkv.bench.benchmark import Progress
from netkv.bench.result import BenchResult, Document, this_machine
from netkv.bench.table_writes import YARDSTICK, MakeEntry, TableWrites
from netkv.errors import NetkvError, UsageError, suggest

YARDSTICK_PATH = "read-hit"

RECORDED_BMV2_PPS = 54_000.0
"""Read hits of the yardstick on bmv2 (simple_switch built with -O3 and without logging), one core.

Recorded once, on another machine: a ratio to it only shows the order of magnitude.
"""

USUAL = (10_000, 128, 128)
"""Default entries, bytes of a value and bits of a key."""

Sweep = Literal["entries", "value-size", "key-width"]
SWEEPS: dict[Sweep, tuple[int, ...]] = {
    "entries": (100, 1_000, 10_000, 100_000, 1_000_000),
    "value-size": (16, 32, 64, 128, 256, 512, 1024),
    "key-width": (32, 64, 128, 256, 512),
}
"""Sizes of the yardstick's read hit, varied one at a time; the others are those of `Case`."""


@dataclass(frozen=True)
class Program:
    """A program to measure."""

    name: str
    """File name without its suffix; `FOLDER-FILE` if a folder of `p4/` has several programs."""
    file: Path | None
    """None for a program that is built into the benchmark."""
    paths: tuple[str, ...]
    """Empty if the benchmark has no packets for it; then only its loading is timed."""


@dataclass(frozen=True)
class Case:
    """A path with its sizes, to be measured with every executor."""

    program: Program
    path: str
    entries: int = 10_000
    value_size: int = 128
    key_width: int = 128

    def __str__(self) -> str:
        """`cache_read read-hit, 1,000,000 entries`."""
        usual = Case(self.program, self.path)
        sizes = [
            f", {size:,} {unit}"
            for size, unit, other in (
                (self.entries, "entries", usual.entries),
                (self.value_size, "byte values", usual.value_size),
                (self.key_width, "bit keys", usual.key_width),
            )
            if size != other
        ]
        return f"{self.program.name} {self.path}{''.join(sizes)}"


class DataPlaneResult(BenchResult):
    """One path of one program, run by one executor."""

    key_width: int
    """Bits of a key."""


class LoadTimes(BaseModel):
    """Seconds from source text to IR, and from IR to a switch with either executor."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: str
    front_end_s: float
    interpreter_s: float
    compiled_s: float


class DataPlaneBenchmark(Document):
    """The whole document."""

    # A finished document does not change, so the narrower element type is safe.
    results: list[DataPlaneResult]  # type: ignore[assignment]
    loads: list[LoadTimes]
    table_writes: list[TableWrites]
    recorded_bmv2_pps: float = RECORDED_BMV2_PPS


@dataclass(frozen=True)
class Plan:
    """Parameters of the benchmark."""

    programs: tuple[Program, ...]
    cases: tuple[Case, ...]
    seconds: float
    """Seconds for each executor and case."""
    writes: int = 10_000
    """Entries that are written through P4Runtime."""


@dataclass
class _Found:
    results: list[DataPlaneResult] = field(default_factory=list)
    loads: list[LoadTimes] = field(default_factory=list)
    writes: list[TableWrites] = field(default_factory=list)


def files() -> dict[str, Path]:
    """The files of the programs that ship, by the names that the benchmark uses."""
    found = resources.programs()
    for name in _engine.bench_paths():
        folder, several, file = name.partition("-")
        if several:
            found[name] = resources.path("p4") / folder / f"{file}.p4"
    return dict(sorted(found.items()))


def programs(wanted: Sequence[str]) -> list[Program]:
    """The programs of these names or files; without any, all that ship and the yardstick.

    The name of a folder with several programs stands for all of them. Raises `UsageError` for an
    unknown name.
    """
    known = _engine.bench_paths()
    shipped = files()
    built_in = [name for name in known if name not in shipped]
    found = []
    for each in wanted or [*built_in, *shipped]:
        file = Path(each)
        name = file.name.removesuffix(".p4")
        if file.is_file():
            in_folder = f"{file.resolve().parent.name}-{name}"
            name = in_folder if in_folder in known else name
            found.append(Program(name, file, tuple(known.get(name, ()))))
            continue
        names = [other for other in (*built_in, *shipped) if name in (other, _folder(other))]
        if each not in (name, f"{name}.p4") or not names:
            options = suggest(name, {*known, *shipped}, label="Programs")
            raise UsageError(f"There is no P4 program '{each}'. {options}")
        found += [Program(one, shipped.get(one), tuple(known.get(one, ()))) for one in names]
    return found


def _folder(program: str) -> str:
    """The folder of a program of this name."""
    return program.partition("-")[0]


def plan(
    chosen: Iterable[Program], path: str | None, sweeps: Iterable[Sweep], seconds: float
) -> Plan:
    """Every path of the chosen programs, or one; and sweeps over the yardstick, if it is chosen.

    Raises `UsageError` for a path that none of them has.
    """
    chosen = tuple(chosen)
    cases = [Case(each, name) for each in chosen for name in each.paths if path in (None, name)]
    if path is not None and not cases:
        paths = {name for each in chosen for name in each.paths}
        raise UsageError(f"There is no path '{path}'. {suggest(path, paths, label='Paths')}")
    swept = [case for case in cases if is_yardstick(case.program.name, case.path)]
    for case in swept:
        # The engine generates the variants; a file of the user is only one of them.
        generated = replace(case, program=replace(case.program, file=None))
        points = [point for sweep in sweeps for point in _points(generated, sweep)]
        cases += [point for point in points if point != generated]
    return Plan(chosen, tuple(cases), seconds)


def _points(usual: Case, sweep: Sweep) -> list[Case]:
    match sweep:
        case "entries":
            return [replace(usual, entries=size) for size in SWEEPS[sweep]]
        case "value-size":
            return [replace(usual, value_size=size) for size in SWEEPS[sweep]]
        case "key-width":
            return [replace(usual, key_width=size) for size in SWEEPS[sweep]]


def run(plan: Plan, progress: Progress) -> DataPlaneBenchmark:
    """Measure everything; `progress` gets the step (from 0), the number of steps, and a label.

    Raises `NetkvError` for a program that does not compile, or a path that fails.
    """
    found = _Found()
    steps: list[tuple[str, Callable[[], None]]] = []
    for program in plan.programs:
        steps.append((f"{program.name}: load", partial(_load, program, found)))
    steps += [(str(case), partial(_measure, case, plan.seconds, found)) for case in plan.cases]
    for program in plan.programs:
        if (make := table_writes.entries_of(program.name)) is not None:
            label = f"{program.name}: {plan.writes:,} entries through P4Runtime"
            steps.append((label, partial(_write, program, make, plan.writes, found)))
    for at, (label, step) in enumerate(steps):
        progress(at, len(steps), label)
        try:
            step()
        except (ValueError, _engine.CompileError) as error:
            raise NetkvError(str(error)) from error
    progress(len(steps), len(steps), "done")
    return DataPlaneBenchmark(
        machine=this_machine(),
        results=found.results,
        ratios=_ratios(found.results),
        loads=found.loads,
        table_writes=found.writes,
    )


def _load(program: Program, found: _Found) -> None:
    found.loads.append(LoadTimes(**_engine.bench_load(program.name, **_source(program))))


def _write(program: Program, make: MakeEntry, entries: int, found: _Found) -> None:
    if program.file is not None:
        bundle = _engine.compile_p4(str(program.file), _includes())
    else:
        source = _engine.bench_source(program.name) or ""
        bundle = _engine.compile_source(f"{program.name}.p4", source)
    found.writes.append(asyncio.run(table_writes.measure(program.name, bundle, make, entries)))


def _measure(case: Case, seconds: float, found: _Found) -> None:
    measured = _engine.bench_measure(
        case.program.name,
        case.path,
        **_source(case.program),
        entries=case.entries,
        value_size=case.value_size,
        key_width=case.key_width,
        seconds=seconds,
    )
    found.results += [DataPlaneResult.model_validate(each) for each in measured]


class _Source(TypedDict):
    file: str | None
    include_dirs: list[str]


def _source(program: Program) -> _Source:
    file = None if program.file is None else str(program.file)
    return {"file": file, "include_dirs": _includes()}


def _includes() -> list[str]:
    """The directories of includes that all commands search, beside the program's own."""
    return [str(resources.path("p4"))]


def is_yardstick(program: str, path: str) -> bool:
    """Whether this is the path whose sizes are varied."""
    return (program, path) == (YARDSTICK, YARDSTICK_PATH)


def by_case(
    results: Iterable[DataPlaneResult],
) -> dict[tuple[str, str, Any, Any, int], dict[str, DataPlaneResult]]:
    """Results of the executors side by side: of (program, path, entries, value size, key width)."""
    cases: dict[tuple[str, str, Any, Any, int], dict[str, DataPlaneResult]] = {}
    for each in results:
        case = (each.program, each.path, *_sizes(each))
        cases.setdefault(case, {})[each.executor] = each
    return cases


def _sizes(result: DataPlaneResult) -> tuple[Any, Any, int]:
    return (result.entries, result.value_size, result.key_width)


def ratio_to(results: dict[str, DataPlaneResult], other: str) -> float | None:
    """Packets/s of compiled code relative to another executor, or to bmv2 as it was recorded."""
    compiled = results.get("compiled")
    if compiled is None:
        return None
    if other == "bmv2":
        same = is_yardstick(compiled.program, compiled.path) and _sizes(compiled) == USUAL
        return compiled.pps / RECORDED_BMV2_PPS if same else None
    return compiled.pps / results[other].pps if other in results else None


def _ratios(results: Iterable[DataPlaneResult]) -> dict[str, float]:
    """`compiled/interpreter` and so on of every path with the usual sizes."""
    ratios: dict[str, float] = {}
    for (program, path, *sizes), of in by_case(results).items():
        if tuple(sizes) != USUAL:
            continue
        for other in ("interpreter", "handwritten", "bmv2"):
            ratio = ratio_to(of, other)
            if ratio is not None:
                name = "recorded-bmv2" if other == "bmv2" else other
                ratios[f"{program}/{path}: compiled/{name}"] = ratio
    return ratios
