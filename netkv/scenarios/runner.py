"""Runs scenarios: every scheme at every sweep point with all repeats, then the thresholds.

A failed run is stored with its reason, and the others still run. When a scenario is interrupted
(task cancelled, Ctrl-C), it stops its rack, stores the run as failed, and re-raises the
cancellation.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netkv import schemes
from netkv.errors import NetkvError
from netkv.lab import state
from netkv.rack.report import RackEvent, RackSample
from netkv.scenarios import thresholds
from netkv.scenarios.collect import Collector
from netkv.scenarios.live import LiveRun
from netkv.scenarios.model import Scenario
from netkv.scenarios.provenance import provenance
from netkv.scenarios.results import (
    INTERRUPTED,
    Phase,
    Provenance,
    RunResult,
    RunSample,
    RunSink,
    RunStart,
    ScenarioResult,
)
from netkv.scenarios.run import DrivenRun
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.scenarios.simulated import SimRun
from netkv.scenarios.timeline import check_live
from netkv.sim import profiles


@dataclass(frozen=True)
class Progress:
    """Progress of a scenario, reported at each phase and each sample."""

    run: RunStart
    index: int
    """Index of this run, from 0."""
    count: int
    """Number of runs."""
    phase: str
    """`starting`, `warmup`, `measure`, `drain`, `verify`, `stopping` or `done`; `known` for a run
    whose result is stored already."""
    elapsed: float
    """Seconds since the beginning of the warm-up."""
    duration: float
    """Seconds of warm-up and measured part."""
    sample: RunSample | None = None
    """The newest sample; None if this reports a phase."""


async def run_scenario(
    scenario: Scenario,
    *,
    sink: RunSink | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    finished: Callable[[str], RunResult | None] = lambda _: None,
) -> ScenarioResult:
    """Runs a scenario; a failed run or a missed threshold is in the result, not raised.

    `finished` returns the stored result of a simulated run by its id, if there is one. Such a run
    is not repeated, since its id is a hash of everything that determines the result.

    Raises `UsageError` for a scenario that cannot run, and `CancelledError` when interrupted.
    """
    state.sweep()
    planned = plan(scenario)
    if scenario.mode == "live":
        for item in planned:
            check_live(item.scenario)
    runs = [
        _Run(item, index, len(planned), sink, on_progress, finished)
        for index, item in enumerate(planned)
    ]
    results = await _one_by_one(runs) if scenario.mode == "live" else await _together(runs)
    expressions = [thresholds.compile_expression(e, scenario.schemes) for e in scenario.expect]
    verdicts = thresholds.evaluate(expressions, results)
    if sink is not None:
        sink.verdict([result.id for result in results], verdicts)
    return ScenarioResult(
        scenario=scenario.name,
        title=scenario.title or scenario.name,
        mode=scenario.mode,
        target=scenario.lab.target,
        seed=scenario.seed,
        runs=results,
        summary=thresholds.summarise(results),
        thresholds=verdicts,
    )


async def _one_by_one(runs: Sequence[_Run]) -> list[RunResult]:
    """Runs live runs one after the other, since they would compete for the machine."""
    return [await run.run() for run in runs]


async def _together(runs: Sequence[_Run]) -> list[RunResult]:
    """Runs simulated runs, which are independent, on all cores, in the order of the plan."""
    cores = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def one(run: _Run) -> RunResult:
        async with cores:
            return await run.run()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(run)) for run in runs]
    except BaseExceptionGroup as failures:
        # All runs of an impossible scenario fail with the same error.
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


class _Run:
    """One run, from its plan to its result in the sink."""

    def __init__(
        self,
        planned: PlannedRun,
        index: int,
        count: int,
        sink: RunSink | None,
        on_progress: Callable[[Progress], None],
        finished: Callable[[str], RunResult | None],
    ) -> None:
        self._planned = planned
        self._index = index
        self._count = count
        self._sink = sink
        self._on_progress = on_progress
        self._finished = finished
        self._phase = "starting"
        self._start: RunStart | None = None
        self._collector: Collector | None = None
        self._early: list[RackEvent] = []
        """Events of the start. Their times relative to the measured part are known after it."""

    async def run(self) -> RunResult:
        """Executes the run; the sink gets its end in any case."""
        kind = LiveRun if self._planned.scenario.mode == "live" else SimRun
        driven = kind(
            self._planned,
            on_event=self._event,
            on_sample=self._sample,
            on_phase=self._enter,
        )
        reason: str | None = INTERRUPTED
        known: RunResult | None = None
        try:
            known = await self._attempt(driven)
            reason = None
        except NetkvError as error:
            reason = str(error)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            reason = f"It ended with an internal error of netkv: {error!r}"
            raise
        finally:
            try:
                await driven.close()
            finally:
                result = known or self._finish(reason)
        if known is not None:
            self._enter("known")
        return result

    async def _attempt(self, run: DrivenRun) -> RunResult | None:
        """Executes the run, or returns its result if that is stored already."""
        failure: NetkvError | None = None
        try:
            await run.prepare()
        except NetkvError as error:
            failure = error
        start = self._describe(run.rack.program_hash)
        if failure is None and (known := self._known(start)) is not None:
            self._start = start
            return known
        self._begin(start)
        if failure is not None:
            raise failure
        assert self._collector is not None
        await run.run(self._collector)
        return None

    def _known(self, start: RunStart) -> RunResult | None:
        if start.mode == "live" or start.provenance.uncommitted:
            return None
        return self._finished(start.id)

    def _describe(self, program_hash: str) -> RunStart:
        scenario = self._planned.scenario
        scheme = schemes.get(self._planned.scheme)
        origin = provenance(scheme.program_path.name, program_hash)
        return RunStart(
            id=_live_id(scheme.name) if scenario.mode == "live" else _sim_id(self._planned, origin),
            scenario=scenario.name,
            title=scenario.title or scenario.name,
            scheme=scheme.name,
            params=self._planned.params,
            repeat=self._planned.repeat,
            seed=self._planned.seed,
            mode=scenario.mode,
            target=scenario.lab.target,
            started_at=time.time(),
            duration=scenario.duration,
            warmup=scenario.warmup,
            parameters=scenario.model_dump(mode="json"),
            provenance=origin,
        )

    def _begin(self, start: RunStart) -> None:
        self._start = start
        self._collector = Collector(start)
        if self._sink is not None:
            self._sink.begin(start)

    def _finish(self, reason: str | None) -> RunResult:
        if self._start is None:
            self._begin(self._describe(""))
        assert self._collector is not None
        self._enter("stopping")
        result = self._collector.result(reason)
        if self._sink is not None:
            self._sink.finish(result)
        self._enter("done")
        return result

    def _event(self, event: RackEvent) -> None:
        if self._collector is None or self._start is None or self._phase == "starting":
            self._early.append(event)
            return
        added = self._collector.event(event)
        if self._sink is not None:
            self._sink.event(self._start.id, added)

    def _sample(self, phase: Phase, sample: RackSample) -> None:
        assert self._collector is not None
        assert self._start is not None
        added = self._collector.sample(phase, sample)
        if phase in ("warmup", "measure"):
            if self._sink is not None:
                self._sink.sample(self._start.id, added)
            self._progress(added)

    def _enter(self, phase: str) -> None:
        self._phase = phase
        early, self._early = self._early, []
        for event in early:
            self._event(event)
        self._progress(None)

    def _progress(self, sample: RunSample | None) -> None:
        if self._start is None:
            return
        total = self._start.warmup + self._start.duration
        elapsed = {"starting": 0.0, "warmup": 0.0, "measure": self._start.warmup}.get(
            self._phase, total
        )
        if sample is not None:
            elapsed = min(max(self._start.warmup + sample.time, 0.0), total)
        self._on_progress(
            Progress(self._start, self._index, self._count, self._phase, elapsed, total, sample)
        )


def _live_id(scheme: str) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime())
    return f"{stamp}-{scheme}-{secrets.token_hex(3)}"


def _sim_id(planned: PlannedRun, origin: Provenance) -> str:
    """The id of a simulated run: a hash of everything that determines its result."""
    document = {
        "scenario": planned.scenario.model_dump(mode="json"),
        "scheme": planned.scheme,
        "seed": planned.seed,
        # The figures, since 'this-machine' and files change with each calibration.
        "profile": profiles.of(planned.scenario.lab).model_dump(mode="json"),
        "program": origin.program_hash,
        "source": [origin.netkv_version, origin.source_revision],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return f"sim-{planned.scenario.name}-{planned.scheme}-{digest[:10]}"
