"""One run of a scenario, from its plan to its result in the sink.

A failed run is stored with its reason. An interrupted one (its task is cancelled) stops its rack,
is stored as cancelled, and re-raises the cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netkv.errors import NetkvError, UsageError, of_disk
from netkv.model.report import RackEvent, RackSample
from netkv.scenarios.collect import Collector
from netkv.scenarios.recovery import recovering_after
from netkv.scenarios.results import (
    CANCELLED,
    Phase,
    RunResult,
    RunSample,
    RunSink,
    RunStart,
)
from netkv.scenarios.run import DrivenRun
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.schedule import Step
from netkv.scenarios.start import describe

if TYPE_CHECKING:
    from netkv.scenarios.live import LiveRun
    from netkv.scenarios.simulated import SimRun


_TICK_S = 0.25
"""Seconds of wall time between two reports of how far a run is."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run, reported at each phase and each sample."""

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


class Execution:
    """One run, from its plan to its result in the sink."""

    def __init__(
        self,
        planned: PlannedRun,
        index: int,
        count: int,
        sink: RunSink | None,
        on_progress: Callable[[Progress], None],
        on_step: Callable[[Step], None],
        started: RunStart | None = None,
        *,
        threads: int = 1,
    ) -> None:
        """`on_step` is called at the beginning of each phase, and several times a second.
        `started`: the run has begun already, in a process that has died. `threads`: how many a
        simulated run may use."""
        self._planned = planned
        self._index = index
        self._count = count
        self._sink = sink
        self._on_progress = on_progress
        self._on_step = on_step
        self._threads = threads
        self._phase = "starting"
        self._recovering: list[str] = []
        """The switches that recover."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of `run`."""
        self._start = started
        self._collector = Collector(started) if started is not None else None
        self._early: list[RackEvent] = []
        """Events of the start. Their times relative to the measured part are known after it."""

    async def run(self) -> RunResult:
        """Executes the run; the sink gets its end in any case.

        Raises the error of a sink that refuses the run.
        """
        self._loop = asyncio.get_running_loop()
        driven: DrivenRun | None = None
        ticker: _Ticker | None = None
        reason: str | None = CANCELLED
        refused = False
        try:
            driven = begun = self._driven()
            ticker = _Ticker(self._loop, lambda: self._on_step(self._position(begun)))
            self._on_step(Step(self._index, "compiling"))
            await self._attempt(driven)
            reason = None
        except NetkvError as error:
            refused = self._start is None and isinstance(error, UsageError)
            if refused:
                raise
            reason = str(error)
        except OSError as error:
            # A full disk, for one, ends this run and not those before and after it.
            sentence = of_disk(error)
            reason = sentence or _internal(error)
            if sentence is None:
                raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            # The latter is a second Ctrl-C; the first one cancels the task.
            raise
        except BaseException as error:
            reason = _internal(error)
            raise
        finally:
            if ticker is not None:
                ticker.stop()
            try:
                if driven is not None:
                    await driven.close()
            finally:
                if not refused:
                    result = self._finish(reason)
        return result

    def _driven(self) -> DrivenRun:
        driven = _kind(self._planned.scenario.mode)(
            self._planned,
            on_event=self._event,
            on_sample=self._sample,
            on_phase=self._enter,
        )
        driven.use_threads(self._threads)
        return driven

    def fail(self, reason: str) -> RunResult:
        """Ends the run without executing it."""
        return self._finish(reason)

    async def _attempt(self, run: DrivenRun) -> None:
        """Executes the run."""
        failure: NetkvError | None = None
        try:
            await run.prepare()
        except NetkvError as error:
            failure = error
        self._begin(describe(self._planned, run.rack.program_hash))
        if failure is not None:
            raise failure
        assert self._collector is not None
        await run.run(self._collector)

    def _begin(self, start: RunStart) -> None:
        if self._sink is not None:
            self._sink.begin(start)
        self._start = start
        self._collector = Collector(start)

    def _finish(self, reason: str | None) -> RunResult:
        if self._start is None:
            self._begin(describe(self._planned, ""))
        assert self._collector is not None
        self._enter("stopping")
        result = self._collector.result(reason)
        if self._sink is not None:
            self._sink.finish(result)
        self._enter(result.status)
        return result

    def _position(self, run: DrivenRun) -> Step:
        """How far the run is."""
        phase, fraction = self._phase, None
        if self._start is None:
            phase = "compiling"
        elif phase == "starting" and run.filled is not None:
            phase, fraction = "preload", run.filled
        elif phase in ("warmup", "measure"):
            fraction = run.load_fraction
        return Step(self._index, phase, fraction, tuple(self._recovering))

    def _event(self, event: RackEvent) -> None:
        if self._collector is None or self._start is None or self._phase == "starting":
            self._early.append(event)
            return
        self._recover(recovering_after(self._recovering, event))
        added = self._collector.event(event)
        if self._sink is not None:
            self._sink.event(self._start.id, added)

    def _recover(self, switches: list[str]) -> None:
        """These switches recover from now on."""
        if switches != self._recovering and self._loop is not None:
            self._recovering = switches
            # Simulated events come from the thread that advances the rack.
            step = Step(self._index, self._phase, recovering=tuple(switches))
            self._loop.call_soon_threadsafe(self._on_step, step)

    def _sample(self, phase: Phase, sample: RackSample, time: float | None) -> None:
        assert self._collector is not None
        assert self._start is not None
        added = self._collector.sample(phase, sample, time)
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
        self._on_step(Step(self._index, phase, recovering=tuple(self._recovering)))

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


class _Ticker:
    """Calls a function every `_TICK_S` while the event loop runs, until it is stopped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
        self._function = function
        self._loop = loop
        self._timer = loop.call_later(_TICK_S, self._tick)

    def stop(self) -> None:
        self._timer.cancel()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(_TICK_S, self._tick)
        self._function()


def _internal(error: BaseException) -> str:
    return f"It ended with an internal error of netkv: {error!r}"


def _kind(mode: str) -> type[LiveRun | SimRun]:
    # Each is imported for its own runs: that of live runs needs gRPC, whose import takes as long as
    # the set-up of a small simulated rack.
    if mode == "live":
        from netkv.scenarios.live import LiveRun

        return LiveRun
    from netkv.scenarios.simulated import SimRun

    return SimRun
