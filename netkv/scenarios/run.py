"""One run: start a rack, run the load with the scenario's events, verify, stop the rack.

Live and simulated runs have the same steps; they differ in the rack and in the clock.
"""

from __future__ import annotations

import asyncio
import functools
import math
from abc import ABC
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from netkv.errors import NetkvError
from netkv.events.event import TimelineEvent
from netkv.model.nodes import NodeError
from netkv.model.report import RackEvent, RackSample
from netkv.model.spec import ClosedLoop, Throttled
from netkv.rack.base import Rack
from netkv.scenarios import popularity, rotation
from netkv.scenarios.changes import Changes
from netkv.scenarios.clock import Clock
from netkv.scenarios.collect import Collector
from netkv.scenarios.results import Phase
from netkv.scenarios.rotation import Rotation
from netkv.scenarios.run_plan import PlannedRun
from netkv.scenarios.sample_times import SampleTimes
from netkv.scenarios.timeline import Timeline

ANSWER_S = 0.25
"""Seconds that a sample waits for the answers of nodes."""
MAX_LATE_S = 0.25
"""Seconds after its time up to which a sample is taken; later, there is a gap."""
_MAX_INTERVAL = 1.0
"""The longest time between two samples in a phase of unknown length."""
_SHORT_INTERVAL = 0.1
"""Seconds between checks for a failed node, and the shortest time between two samples."""
_ROUNDING = 1e-9
_STALL_TIMEOUT = 15.0
"""Seconds without progress after which the verification fails."""
_DEREGISTRATION_TIMEOUT = 3.0
"""Seconds to wait for the deregistration of clients; clients themselves give up after 2."""
_HOTTEST_ASKED = 100_000


OnSample: TypeAlias = Callable[[Phase, RackSample, float | None], None]
"""Takes a sample. Those of the load have the end of their interval, in seconds since the measured
part began."""


class RunFailedError(NetkvError):
    """The run has failed; the text is the stored reason."""


class DrivenRun(ABC):
    """Executes a planned run. Callers use `prepare`, `run`, and in any case `close`."""

    rack: Rack

    def __init__(
        self,
        planned: PlannedRun,
        *,
        on_event: Callable[[RackEvent], None],
        on_sample: OnSample,
        on_phase: Callable[[str], None],
        clock: Clock,
    ) -> None:
        self._planned = planned
        self._scenario = planned.scenario
        self._on_event = on_event
        self._on_sample = on_sample
        self._on_phase = on_phase
        self.spec = self._scenario.rack(planned.scheme, planned.seed)
        self._clock = clock
        self.threads = 1
        self._changes = Changes()
        self._rotation: Rotation | None = None
        """The turns of the servers, if they take turns, from the measured part on."""
        self._load_part: tuple[float, float] | None = None
        """Begin and length of the newest part of the load, on the clock of the run; None before."""

    @property
    def filled(self) -> float | None:
        """While the rack's caches are filled: how far that is, 0 to 1; otherwise None."""
        return self.rack.filled

    @property
    def load_fraction(self) -> float | None:
        """How far the newest part of the load is, 0 to 1; None before it begins."""
        if self._load_part is None:
            return None
        begun, seconds = self._load_part
        return min((self._clock.now() - begun) / seconds, 1.0)

    def use_threads(self, threads: int) -> None:
        """How many threads of this process the run may use. Before `run`; live racks need none."""
        self.threads = threads

    async def prepare(self) -> None:
        """Compiles the program; raises `NetkvError`."""
        await self.rack.compile()

    async def run(self, collector: Collector) -> None:
        """Executes all steps, from the rack's start to the verification; raises `NetkvError`."""
        self._on_phase("starting")
        try:
            await self.rack.start()
        finally:
            # The duration of the start is known only now, and event times depend on it.
            collector.epoch = self._clock.time() + self._scenario.warmup
        # The first interval of the load begins here.
        collector.fold("warmup", await self.rack.sample())
        if self._scenario.warmup > 0:
            await self._load("warmup", self._scenario.warmup, None, collector)
        timeline = Timeline(self._scenario)
        if self._scenario.workload.rotation:
            self._rotation = await self._rotate()
        await self._load("measure", self._scenario.duration, timeline, collector)
        if self._rotation is not None:
            collector.whole_rack = rotation.put_together(self._rotation.turns)
        collector.stated["predicted_hit_ratio"] = await self._predict()
        await self._drain()
        collector.stated["acked_writes_lost"] = await self._verify()
        await self._deregister_clients()

    async def close(self) -> None:
        """Stops the rack."""
        self._on_phase("stopping")
        await self.rack.stop()

    async def _load(
        self, phase: Phase, seconds: float, timeline: Timeline | None, collector: Collector
    ) -> None:
        """Runs a phase with load and the events of `timeline`, and samples it every second.

        Samples come before events of the same time: they are about the time before.
        """
        # Until the client has the command, which may take seconds on a busy machine, how far the
        # part before was says nothing about this one.
        self._load_part = None
        self._on_phase(phase)
        await self.rack.client.command({"do": "phase", "name": phase})
        begun = self._clock.now()
        self._load_part = begun, seconds
        collector.epoch = self._clock.time() + (seconds if phase == "warmup" else 0.0)
        grid = SampleTimes(seconds, of_warmup=phase == "warmup")
        turns = self._rotation if phase == "measure" else None
        while (due := grid.next) is not None:
            at = [part.next_at() for part in (timeline, turns) if part is not None]
            await self._sleep_until(begun + min([due, *(each for each in at if each is not None)]))
            # `now - begun` may be below the time of an event by a rounding error.
            elapsed = self._clock.now() - begun + _ROUNDING
            if elapsed >= due:
                await self._sample_load(phase, grid, begun, elapsed)
            if turns is not None and (turn := turns.take(elapsed)) is not None:
                await self._perform(functools.partial(self._begin_turn, turns.commands(turn)))
            if timeline is not None:
                for event in timeline.take(elapsed):
                    await self._perform(functools.partial(self._event, event, timeline, phase))
        await self._performed()

    async def _rotate(self) -> Rotation:
        """The turns of the servers, of which the busiest has the first."""
        hottest = await self.rack.hottest(_HOTTEST_ASKED)
        popular, servers = popularity.of(self._scenario.workload), self.spec.lab.servers
        first = await asyncio.to_thread(rotation.busiest, hottest, popular, servers)
        arrivals = self._scenario.workload.arrivals
        assert isinstance(arrivals, ClosedLoop | Throttled), "the scenario was checked"
        return Rotation(first, servers, self._scenario.duration, arrivals)

    async def _begin_turn(self, commands: Sequence[dict[str, Any]]) -> None:
        for command in commands:
            await self.rack.client.command(command)

    async def _event(self, event: TimelineEvent, timeline: Timeline, phase: Phase) -> None:
        self.rack.emit(**self._changes.fields(event.action, "scenario"))
        await timeline.perform(event, self.rack, phase)

    async def _perform(self, action: Callable[[], Awaitable[None]]) -> None:
        """Carries out an action; the load and its samples must not wait for it.

        In virtual time, none passes meanwhile.
        """
        await action()

    async def _performed(self) -> None:  # noqa: B027 (nothing to wait for in virtual time)
        """Waits until all actions are carried out; raises their errors."""

    async def _sample_load(
        self, phase: Phase, grid: SampleTimes, begun: float, elapsed: float
    ) -> None:
        """Takes the sample that is due `elapsed` seconds after the beginning of the phase."""
        due = grid.pass_until(elapsed)
        at_end = grid.next is None
        if elapsed - due > MAX_LATE_S and not at_end:
            return  # a gap; its operations are in the next sample
        while True:
            samples = await self.rack.samples(ANSWER_S)
            since = self._clock.now() - self._clock.time() - begun
            times = grid.place([since + sample.time for sample in samples])
            for sample, time in zip(samples, times, strict=True):
                self._on_sample(phase, sample, time)
                if self._rotation is not None:
                    self._rotation.add(sample)
            if not at_end or grid.complete:
                return
            # The next phase begins with a command to the load generator.
            if self._clock.now() - begun > grid.seconds + _STALL_TIMEOUT:
                raise RunFailedError(
                    f"The load generator has not answered for {_STALL_TIMEOUT:g} s."
                )

    async def _sleep_until(self, wake: float) -> None:
        """Sleeps until `wake`; raises `RunFailedError` as soon as a failed node ends the run."""
        while True:
            self._check()
            rest = wake - self._clock.now()
            if rest <= 0:
                return
            await self._clock.sleep(min(rest, _SHORT_INTERVAL))

    def _check(self) -> None:
        failed = self.rack.failed
        if failed is not None and (
            self._scenario.on_failure == "fail" or failed.node == self.rack.client.name
        ):
            raise RunFailedError(failed.text)

    async def _sample(self, phase: Phase) -> RackSample:
        sample = await self.rack.sample()
        self._on_sample(phase, sample, None)
        return sample

    async def _predict(self) -> float | None:
        """The hit ratio that a Zipf distribution predicts for the cached keys; None if nobody knows
        them, or if the mix is not Zipf-distributed."""
        workload, scheme = self._scenario.workload, self.rack.scheme
        if (
            not scheme.traits.caches
            or scheme.card is not None
            or workload.mix in ("ycsb-d", "insert")
        ):
            return None
        try:
            hottest = await self.rack.hottest(_HOTTEST_ASKED)
        except NodeError:
            return None
        cached = self.rack.cached_keys()
        return await asyncio.to_thread(
            popularity.predicted_hit_ratio, cached, hottest, popularity.of(workload)
        )

    async def _drain(self) -> None:
        self._on_phase("drain")
        await self.rack.client.command({"do": "phase", "name": "drain"})
        begun = self._clock.now()
        while (await self._sample("drain")).phase != "idle":
            if self._clock.now() > begun + self._scenario.deadline + 5:
                raise RunFailedError("Requests were still outstanding long after their deadline.")
            await self._sleep_until(self._next_sample(begun))

    async def _verify(self) -> int | None:
        """Reads back every written key; returns how many acknowledged writes are lost."""
        down = [name for name, running in self.rack.running.items() if not running]
        if down:
            self._note(f"not verified: {', '.join(down)} down at the end")
            return None
        if not self.rack.controlled:
            self._note("not verified: the switch was started again and has had no controller")
            return None
        stale = self.rack.scheme.max_staleness(self.rack.spec.lab)
        if stale == math.inf:
            self._note("not verified: caches may answer with replaced values for ever")
            return None
        if stale is not None:
            await self._sleep_until(self._clock.now() + stale)
        self._on_phase("verify")
        await self.rack.client.command({"do": "phase", "name": "verify"})
        verified = -1
        begun = progress = self._clock.now()
        while True:
            sample = await self._sample("verify")
            self._check()
            now_verified = int(sample.client_statistics.get("verified") or 0)
            if sample.phase == "idle":
                return int(sample.client_statistics["acked_writes_lost"])
            if now_verified != verified:
                verified, progress = now_verified, self._clock.now()
            elif self._clock.now() - progress > _STALL_TIMEOUT:
                raise RunFailedError(
                    f"The verification made no progress for {_STALL_TIMEOUT:g} s "
                    f"({verified} keys read back)."
                )
            await self._sleep_until(self._next_sample(begun))

    async def _deregister_clients(self) -> None:
        """Lets clients deregister with the controller, in schemes where they register."""
        rack = self.rack
        if not rack.scheme.traits.client_keeps or not rack.client.running:
            return
        await rack.client.command({"do": "phase", "name": "end"})
        deadline = self._clock.now() + _DEREGISTRATION_TIMEOUT
        while (await rack.sample()).phase != "idle" and self._clock.now() < deadline:
            await self._sleep_until(self._clock.now() + _SHORT_INTERVAL)

    def _next_sample(self, begun: float) -> float:
        """When to sample next in a phase of unknown length, which has begun at `begun`.

        The interval is a tenth of the time so far, between 0.1 and 1 s. With a slow store such a
        phase lasts minutes, and samples of it would cost more than its simulation.
        """
        now = self._clock.now()
        return now + min(max(_SHORT_INTERVAL, (now - begun) / 10), _MAX_INTERVAL)

    def _note(self, text: str) -> None:
        self.rack.emit("note", "rack", text)
