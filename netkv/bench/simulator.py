"""The benchmark `netkv bench sim`: simulated requests and events per second of wall time.

Each rack is measured in a process of its own (`netkv.sim.timing`). Beside the racks of usual sizes
their switch program runs alone, in memory, with the same share of cache hits: the lower bound for
the simulator's time. Racks that only write show how memory grows with the length of a run
(`simulated_memory`). docs/internals/benchmarks.md explains how to read it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from netkv import resources, schemes
from netkv.bench.benchmark import Progress
from netkv.bench.result import Machine, this_machine
from netkv.bench.simulated_memory import MemoryGrowth
from netkv.errors import MisfitError, NetkvError, UsageError
from netkv.model.hardware import TopologySpec
from netkv.sim.timing import OUTSTANDING_PER_SERVER, Case, Measured
from netkv.worker_process import cores

SERVERS = (1, 8, 32, 128)
KEYS = (10_000, 1_000_000, 100_000_000)
TOPOLOGIES = (
    TopologySpec(kind="racks", racks=4),
    TopologySpec(kind="racks", racks=16),
    TopologySpec(kind="spine-leaf", layers=2, switches=2),
    TopologySpec(kind="spine-leaf", layers=2, switches=8),
)
SKEWS = (0.99, 0.0)
MAX_KEYS, SKEW = KEYS[-1], SKEWS[0]
WRITTEN_KEYS = (10_000, MAX_KEYS)
"""Keys of the racks that only write: few, all written soon, and more than a run can write."""
WRITING_SERVERS = 8

_VALUE_SIZES = (128, 32)
"""The first size is the usual one."""
_ALONE_S = 0.3
"""Seconds for each path of a program alone; before the rack and again after it."""
_TIMEOUT = 600.0
MAX_THREADS = 4
"""A simulated rack has as many parts at most."""


class SimulatorResult(BaseModel):
    """One rack."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    servers: int
    keys: int
    zipf: float
    topology: Literal["rack", "racks", "spine-leaf"]
    switches: int
    clients: int
    outstanding: int
    requests_per_s: float
    """Completed, for each second of wall time."""
    events_per_s: float
    """Events of the simulation, for each second of wall time."""
    requests_per_core_s: float
    """For each second of core time, so other load of the machine has less influence."""
    events_per_core_s: float
    events_per_request: float
    hit_ratio: float | None
    """None for a scheme that does not cache."""
    python_share: float
    """Share of the time on a core: control planes, and their table writes."""
    virtual_s: float
    wall_s: float
    setup_s: float
    """Wall time from the specification to a rack whose caches are filled."""
    memory_mb: float
    """Peak memory of the process."""


class MemoryResult(BaseModel):
    """Memory of a rack that only writes, after some virtual time and after ten times that time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    servers: int
    keys: int
    crashes: bool
    """Whether a switch crashes and recovers in each tenth of the time."""
    virtual_s: tuple[float, float]
    operations: tuple[int, int]
    """Completed until then."""
    written_keys: tuple[int, int]
    """Different keys that the servers' stores hold then, because they were written."""
    memory_mb: tuple[float, float]
    """Peak memory of the process until then."""
    bytes_per_operation: float
    """Memory that was added after the first tenth, for each operation."""
    bytes_per_key: float | None
    """The same, for each key first written after the first tenth; None: there was none."""


class SimulatorBenchmark(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    results: list[SimulatorResult]
    memory: list[MemoryResult]
    ratios: dict[str, float]
    """By name: `SCHEME/zipf-0.99: rack/program alone` and so on, of time on a core;
    `SCHEME/zipf-0.99: speed, 2 threads/1` of wall time."""

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class Row:
    """A rack, and whether its program is measured alone beside it.

    For a rack that only writes, the memory is measured.
    """

    case: Case
    beside_program: bool = False

    def __str__(self) -> str:
        """`SCHEME, 128 servers, 100,000,000 keys, Zipf 0.99`."""
        case = self.case
        words = [case.scheme, f"{case.servers} server{'s' if case.servers > 1 else ''}"]
        words += [f"{case.keys:,} keys", f"Zipf {case.zipf:g}" if case.zipf else "uniform"]
        if case.writes:
            words.append("writes, a switch crashes" if case.crash else "writes")
        if case.topology.kind != "rack":
            words.append(case.topology.describe())
        if case.window is not None:
            words.append(f"{case.window:,} outstanding")
        return ", ".join(words)


def plan(
    wanted: Sequence[str], servers: Sequence[int], keys: Sequence[int], seconds: float
) -> list[Row]:
    """The racks of these schemes (without any: of all schemes), `seconds` each.

    A scheme is measured on those racks that it supports; with `servers` or `keys`, only on single
    racks of all these sizes. Raises `UsageError` for a scheme that does not exist, and for a
    requested size that a scheme does not support.
    """
    rows: list[Row] = []
    for scheme in [schemes.get(name).name for name in wanted] or _all_schemes():
        most = max_servers(scheme)
        usual = Case(scheme=scheme, servers=most, seconds=seconds)
        writing = usual.model_copy(update={"writes": 1.0})
        beside = _paths(scheme) is not None
        if servers or keys:
            sizes = [(one, many) for one in servers or [most] for many in keys or KEYS[-1:]]
            cases = [_sized(usual, one, many) for one, many in sizes]
            for case in cases:
                schemes.of(case.rack())
            rows += [Row(case, beside) for case in cases]
            rows += _with_crash([Row(_sized(writing, one, many)) for one, many in sizes])
            continue
        cases = [_sized(usual, one, MAX_KEYS) for one in SERVERS if one != most]
        cases += [_sized(usual, most, many) for many in KEYS[:-1]]
        threads = min(cores(), MAX_THREADS)
        several = usual.model_copy(update={"threads": threads})
        cases += [several.model_copy(update={"topology": each}) for each in TOPOLOGIES]
        # All servers with the requests of one: separates the cost of servers and of requests.
        cases.append(usual.model_copy(update={"window": OUTSTANDING_PER_SERVER}))
        rows += [Row(several.model_copy(update={"zipf": s}), beside) for s in SKEWS]
        rows += [Row(case) for case in cases if _is_supported(case)]
        rows += _with_crash([Row(_sized(writing, WRITING_SERVERS, many)) for many in WRITTEN_KEYS])
    return [replace(row, case=_fitting(row.case)) for row in rows]


def _fitting(case: Case) -> Case:
    """The case with values of a size that the cards of its scheme can hold, if it has cards."""
    card = schemes.get(case.scheme).card
    preload = card(case.rack().lab).preload if card else None
    if preload is None:
        return case
    for size in _VALUE_SIZES:
        fitting = case.model_copy(update={"value_size": size})
        try:
            next(iter(preload(fitting.rack(), 0)), None)
        except MisfitError:
            continue
        return fitting
    return case  # refused with a sentence when it is measured


def _with_crash(rows: list[Row]) -> list[Row]:
    """The rows, and the first of them with crashes, if its scheme recovers from them."""
    case = rows[0].case
    if not schemes.get(case.scheme).recovery_phases:
        return rows
    return [*rows, Row(case.model_copy(update={"crash": True}))]


def _all_schemes() -> list[str]:
    # With an FPGA card the simulation of its design takes nearly all of the time.
    return [scheme.name for scheme in schemes.all_schemes() if scheme.card is None]


def max_servers(scheme: str) -> int:
    """The largest rack of `SERVERS` that a scheme supports."""
    return max(one for one in SERVERS if _is_supported(Case(scheme=scheme, servers=one)))


def _is_supported(case: Case) -> bool:
    try:
        schemes.of(case.rack())
    except UsageError:
        return False
    return True


def _sized(usual: Case, servers: int, keys: int) -> Case:
    return usual.model_copy(update={"servers": servers, "keys": keys})


def run(rows: Sequence[Row], progress: Progress) -> SimulatorBenchmark:
    """Measures everything; `progress` gets the step (from 0), the number of steps, and a label.

    Raises `NetkvError` for a rack that cannot be simulated.
    """
    results: list[SimulatorResult] = []
    memory: list[MemoryResult] = []
    beside: dict[str, float] = {}
    speedups: dict[str, float] = {}
    for at, row in enumerate(rows):
        progress(at, len(rows), str(row))
        if row.case.writes:
            grown = MemoryGrowth.model_validate_json(_measured(row, "netkv.bench.simulated_memory"))
            memory.append(_memory_result(row.case, grown))
            continue
        turns = [_alone(row.case)] if row.beside_program else []
        seen = Measured.model_validate_json(_measured(row, "netkv.sim.timing"))
        results.append(_result(row.case, seen))
        if seen.speedup is not None:
            speedups[speed_name(row.case)] = round(seen.speedup, 2)
        if turns:
            turns.append(_alone(row.case))
            beside[ratio_name(row, rows)] = _to_program(seen, turns)
    progress(len(rows), len(rows), "done")
    ratios = {**beside, **speedups, **_growth(results), **_lengths(memory)}
    return SimulatorBenchmark(machine=this_machine(), results=results, memory=memory, ratios=ratios)


def _measured(row: Row, module: str) -> str:
    """Runs this module in a process for the rack; returns the document that it prints."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=row.case.model_dump_json(),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NetkvError(f"{row}: not finished after {_TIMEOUT:g} s.") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise NetkvError(f"{row} cannot be simulated: {last}")
    return done.stdout


def _result(case: Case, seen: Measured) -> SimulatorResult:
    caches = schemes.get(case.scheme).traits.caches
    return SimulatorResult(
        scheme=case.scheme,
        servers=case.servers,
        keys=case.keys,
        zipf=case.zipf,
        topology=case.topology.kind,
        switches=seen.switches,
        clients=case.rack().lab.clients,
        outstanding=case.outstanding,
        requests_per_s=round(seen.requests / seen.wall_s),
        events_per_s=round(seen.events / seen.wall_s),
        requests_per_core_s=round(seen.requests / seen.cpu_s),
        events_per_core_s=round(seen.events / seen.cpu_s),
        events_per_request=round(seen.events / max(seen.requests, 1), 2),
        hit_ratio=round(seen.hits / max(seen.reads, 1), 4) if caches else None,
        python_share=round(seen.python_share, 4),
        virtual_s=round(seen.virtual_s, 6),
        wall_s=round(seen.wall_s, 3),
        setup_s=round(seen.setup_s, 3),
        memory_mb=round(seen.memory_mb, 1),
    )


def _memory_result(case: Case, grown: MemoryGrowth) -> MemoryResult:
    first, whole = grown.first, grown.whole
    added = (whole.memory_mb - first.memory_mb) * 2**20
    keys = whole.written_keys - first.written_keys
    return MemoryResult(
        scheme=case.scheme,
        servers=case.servers,
        keys=case.keys,
        crashes=case.crash,
        virtual_s=(round(first.virtual_s, 6), round(whole.virtual_s, 6)),
        operations=(first.operations, whole.operations),
        written_keys=(first.written_keys, whole.written_keys),
        memory_mb=(round(first.memory_mb, 1), round(whole.memory_mb, 1)),
        bytes_per_operation=round(added / max(whole.operations - first.operations, 1), 1),
        bytes_per_key=round(added / keys, 1) if keys else None,
    )


# The program alone


def _paths(scheme: str) -> tuple[str, str] | None:
    """Paths of the data-plane benchmark that a read takes, with a hit and without.

    None: the benchmark does not know the program, or the scheme has multigets.
    """
    from netkv import _engine

    known = schemes.get(scheme)
    paths = _engine.bench_paths().get(known.program_path.stem, [])
    for pair in (("read-hit", "read-miss"), ("read", "read")):
        if not known.traits.multigets and set(pair) <= set(paths):
            return pair
    return None


def _alone(case: Case) -> tuple[float, float]:
    """Seconds on a core for a packet of the program, with a hit and without, in memory."""
    from netkv import _engine

    paths = _paths(case.scheme)
    assert paths is not None
    program = schemes.get(case.scheme).program_path
    seconds: dict[str, float] = {}
    for path in dict.fromkeys(paths):
        measured = _engine.bench_measure(
            program.stem,
            path,
            file=str(program),
            include_dirs=[str(resources.path("p4"))],
            entries=case.cache_entries,
            seconds=_ALONE_S,
        )
        rates = {each["executor"]: each["pps"] for each in measured}
        seconds[path] = 1 / rates["compiled"]
    hit, miss = paths
    return seconds[hit], seconds[miss]


def _to_program(seen: Measured, alone: Iterable[tuple[float, float]]) -> float:
    """Core time of the rack relative to that of its packets through the program alone."""
    # In a rack of one switch each packet crosses a link to the switch and one from it.
    packets = seen.frames / 2
    times = [seen.hits * hit + max(packets - seen.hits, 0) * miss for hit, miss in alone]
    return round(seen.cpu_s / median(times), 2)


def ratio_name(row: Row, rows: Sequence[Row]) -> str:
    """The name of the ratio of a rack to its program alone, in the document of these rows."""
    case = row.case
    sizes = ""
    if len({(each.case.servers, each.case.keys) for each in rows if each.beside_program}) > 1:
        sizes = f"/{case.servers}-servers/{case.keys}-keys"
    return f"{case.scheme}/{_skew(case)}{sizes}: rack/program alone"


def speed_name(case: Case) -> str:
    """The name of the ratio of the speed with all threads to that with one, in the document."""
    rack = "" if case.topology.kind == "rack" else f"/{case.topology.describe()}"
    return f"{case.scheme}/{_skew(case)}{rack}: speed, {case.threads} threads/1"


def _skew(case: Case) -> str:
    return f"zipf-{case.zipf:g}" if case.zipf else "uniform"


# Growth


def _growth(results: Sequence[SimulatorResult]) -> dict[str, float]:
    """Core time of an event in the larger of two racks relative to the smaller, all else the same.

    Requests follow from the servers, so they are in the name only if they alone are varied.
    """
    ratios: dict[str, float] = {}
    for usual in results:
        if not _is_usual(usual):
            continue
        for other in results:
            same = (other.scheme, other.zipf) == (usual.scheme, usual.zipf)
            changed = _change(usual, other)
            if same and changed is not None:
                # Of two topologies the usual one is the smaller.
                larger, smaller = (usual, other) if other.topology == "rack" else (other, usual)
                cost = smaller.events_per_core_s / max(larger.events_per_core_s, 1)
                ratios[f"{usual.scheme}: time of an event, {changed}"] = round(cost, 2)
    return ratios


def _is_usual(result: SimulatorResult) -> bool:
    most = max_servers(result.scheme)
    sizes = (result.servers, result.keys, result.zipf, result.topology)
    many = result.outstanding == OUTSTANDING_PER_SERVER * most
    return sizes == (most, MAX_KEYS, SKEW, "rack") and many


def _lengths(memory: Sequence[MemoryResult]) -> dict[str, float]:
    """Memory after ten times the time relative to that after the time."""
    several = len({each.servers for each in memory}) > 1
    ratios: dict[str, float] = {}
    for each in memory:
        servers = f"{each.servers} servers, " if several else ""
        first, whole = each.memory_mb
        run = "memory of a run ten times as long"
        crashes = ", with crashes" if each.crashes else ""
        name = f"{each.scheme}: {run}, {servers}{each.keys:,} keys written{crashes}"
        ratios[name] = round(whole / first, 2)
    return ratios


def _change(usual: SimulatorResult, other: SimulatorResult) -> str | None:
    """The only difference; None if there is none, or more than one."""
    changed = []
    if other.servers != usual.servers:
        changed.append(f"{usual.servers}/{other.servers} servers")
    elif other.outstanding != usual.outstanding:
        changed.append(f"{usual.outstanding}/{other.outstanding} requests outstanding")
    if other.keys != usual.keys:
        changed.append(f"{usual.keys}/{other.keys} keys")
    if other.topology != usual.topology:
        changed.append(f"{other.topology} of {other.switches} switches/one switch")
    return changed[0] if len(changed) == 1 else None
