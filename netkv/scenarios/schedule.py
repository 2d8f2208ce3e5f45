"""How far a scenario is, and how long it still takes: a model without I/O and without a clock.

Rules
-----
1. A run is a sequence of phases (`PHASES`), each with the seconds that it is expected to take. A
   phase is as far as its run reports. If the run cannot say, the time that has passed counts,
   compared to what is expected; such a phase never counts as complete before the next one begins.
2. Expectations are corrected by what was measured: for each kind of phase by the phases that have
   ended, and within a phase by its own speed. Phases that ended early (a run that failed, a result
   that is stored already) count only as far as they went.
3. The time left is the makespan of what is left: as many runs at a time as the scenario has jobs,
   each of the others begins when one ends.
4. The completed share is that of the expected work: runs and phases count by the seconds that were
   expected at the beginning. So it never decreases when a run turns out to be slow, and it is 1
   exactly when all runs have ended.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from netkv.executors.executor import Worker

PHASES = ("compiling", "starting", "preload", "warmup", "measure", "drain", "verify", "stopping")
"""The phases of a run, in order; a run may lack some. `preload`: caches are filled."""
ENDED = ("done", "failed", "cancelled", "known")
"""A run has ended: it was executed, with this status, or its result is stored already."""

TEXTS = {
    "compiling": "compiling",
    "starting": "starting",
    "preload": "filling the cache",
    "warmup": "warm-up",
    "measure": "measuring",
    "drain": "draining",
    "verify": "verifying",
    "stopping": "stopping",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "known": "stored already",
}
"""The phases for users."""

_KINDS = {"warmup": "load", "measure": "load"}
"""Phases that do the same work, and so have one speed."""
_PRIOR = 0.1
"""Weight of an expectation against measured speed, as a share of a phase that took as long as
expected."""
_MIN_SECONDS = 0.02
"""An expectation below this says nothing about the speed."""
_LINEAR = 0.8
"""Share of a phase up to which its expected time is believed, if it does not report how far it is.
"""
_OVERDUE = 0.25
"""Seconds left for each second that such a phase has taken beyond its expected time."""
_ALMOST = 0.999
"""Limit of the completed share before the end."""


@dataclass(frozen=True)
class Step:
    """A report of a run: at the beginning of each phase, and several times a second."""

    index: int
    """Number of the run in the plan, from 0."""
    phase: str
    """One of `PHASES` or `ENDED`."""
    fraction: float | None = None
    """How far the phase is, 0 to 1; None if the run cannot say."""
    recovering: tuple[str, ...] = ()
    """The switches that recover."""
    seconds: float | None = None
    """What the run has taken, if its phases were not reported; with one of `ENDED`."""


@dataclass(frozen=True)
class RunState:
    """A run in progress."""

    index: int
    scheme: str
    phase: str
    fraction: float
    """How far the phase is, 0 to 1."""
    share: float
    """How far the run is, 0 to 1."""
    left_seconds: float
    recovering: tuple[str, ...]

    @property
    def text(self) -> str:
        """What it does, for users: `measuring, switch recovers`."""
        phase = TEXTS.get(self.phase, self.phase)
        if not self.recovering:
            return phase
        return f"{phase}, {' and '.join(self.recovering)} recover{'s' * (len(self.recovering) < 2)}"


@dataclass(frozen=True)
class State:
    """A scenario in progress."""

    done: int
    """Number of runs that have ended."""
    total: int
    fraction: float
    """How far the scenario is, 0 to 1."""
    left_seconds: float
    phase: str
    """That of the run in progress, of several the first; `waiting` before the first, `done` at the
    end."""
    runs: tuple[RunState, ...]
    """The runs in progress, in the order of the plan."""
    rate: float | None = None
    """Runs per second that end, over the last minute; None before some have."""
    failed: int = 0
    """Number of runs that have failed."""
    failures: tuple[str, ...] = ()
    """The newest of them, each with its reason."""
    workers: tuple[Worker, ...] = ()
    """The processes that execute runs."""
    link: str | None = None
    """The address of a page about them."""

    def document(self, updated_at: float) -> dict[str, Any]:
        """For the run store (`groups.progress`); `updated_at` in seconds since the epoch."""
        return {
            "done": self.done,
            "total": self.total,
            "fraction": self.fraction,
            "left_seconds": self.left_seconds,
            "phase": self.phase,
            "runs": [
                {
                    "index": each.index,
                    "scheme": each.scheme,
                    "phase": each.phase,
                    "fraction": each.fraction,
                    "share": each.share,
                    "left_seconds": each.left_seconds,
                    "recovering": list(each.recovering),
                }
                for each in self.runs
            ],
            "rate": self.rate,
            "failed": self.failed,
            "failures": list(self.failures),
            "workers": [asdict(each) for each in self.workers],
            "link": self.link,
            "updated_at": updated_at,
        }


@dataclass
class _Run:
    """A run that has begun and not ended."""

    phase: str
    since: float
    """When the phase began."""
    at: float
    """When it was reported last."""
    fraction: float | None = None
    """What the run has reported."""
    recovering: tuple[str, ...] = ()
    shown: float = 0.0
    """The largest fraction of the phase that was shown."""
    share: float = 0.0
    """The largest share of the run that was shown."""


@dataclass
class _Speed:
    """Seconds that phases of a kind took, and those that were expected for the same work."""

    usual: float
    """Mean of the expected seconds of such a phase."""
    taken: float = 0.0
    expected: float = 0.0
    running_taken: float = 0.0
    """The same of phases in progress."""
    running_expected: float = 0.0

    @property
    def pace(self) -> float:
        """Seconds for each expected second."""
        prior = _PRIOR * self.usual
        expected = self.expected + self.running_expected + prior
        if expected < _MIN_SECONDS:
            return 1.0
        return (self.taken + self.running_taken + prior) / expected


@dataclass
class Schedule:
    """The planned runs of a scenario, and how far they are.

    `schemes` and `expected` have an entry for each planned run: its scheme, and the expected
    seconds of each of its phases. `jobs` runs are executed at a time. All times are readings of one
    monotonic clock, in seconds.
    """

    schemes: Sequence[str]
    expected: Sequence[Mapping[str, float]]
    jobs: int
    _running: dict[int, _Run] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _speeds: dict[str, _Speed] = field(default_factory=dict)
    _work: list[float] = field(default_factory=list)
    """Weight of each run."""

    def __post_init__(self) -> None:
        kinds: dict[str, list[float]] = {}
        for phases in self.expected:
            for phase, seconds in phases.items():
                kinds.setdefault(_kind(phase), []).append(seconds)
        for kind, usual in kinds.items():
            self._speeds[kind] = _Speed(math.fsum(usual) / len(usual))
        self._work = [max(math.fsum(each.values()), _MIN_SECONDS) for each in self.expected]

    def step(self, now: float, step: Step) -> None:
        """Takes a report of a run at time `now`."""
        if step.index in self._ended:
            return
        run = self._running.get(step.index)
        if run is not None and run.phase != step.phase:
            self._leave(now, step.index, run, step.phase)
        if step.phase in ENDED:
            self._running.pop(step.index, None)
            self._ended.add(step.index)
            if step.seconds is not None and step.phase == "done":
                self._measure(step.index, step.seconds)
        elif run is None or run.phase != step.phase:
            share = 0.0 if run is None else run.share
            self._running[step.index] = _Run(
                step.phase, now, now, step.fraction, step.recovering, share=share
            )
        else:
            run.at = now
            run.recovering = step.recovering
            if step.fraction is not None:
                run.fraction = max(run.fraction or 0.0, min(step.fraction, 1.0))

    @property
    def over(self) -> bool:
        """Whether all runs have ended."""
        return len(self._ended) == len(self.expected)

    def state(self, now: float) -> State:
        """How far the scenario is at time `now`."""
        self._measure_running()
        runs = tuple(self._run_state(now, index) for index in sorted(self._running))
        done, total = len(self._ended), len(self.expected)
        if done == total:
            return State(done, total, 1.0, 0.0, "done", ())
        work = math.fsum(self._work[index] for index in self._ended)
        work += math.fsum(each.share * self._work[each.index] for each in runs)
        fraction = min(work / math.fsum(self._work), _ALMOST)
        left = self._left([each.left_seconds for each in runs])
        return State(done, total, fraction, left, runs[0].phase if runs else "waiting", runs)

    def _leave(self, now: float, index: int, run: _Run, following: str) -> None:
        """A phase ends; what it took corrects the expectations of others."""
        if run.phase not in PHASES:
            return
        share = 1.0
        if following == "stopping" and run.fraction is not None:
            share = run.fraction  # the run has failed, or was stopped
        speed = self._speeds.setdefault(_kind(run.phase), _Speed(0.0))
        speed.taken += now - run.since
        speed.expected += share * self.expected[index].get(run.phase, 0.0)

    def _measure(self, index: int, seconds: float) -> None:
        """Lets a run whose phases are not known count for the speed of all its phases alike."""
        expected = self.expected[index]
        whole = math.fsum(expected.values())
        for phase, usual in expected.items():
            if whole > 0:
                self._speeds[_kind(phase)].taken += seconds * usual / whole
                self._speeds[_kind(phase)].expected += usual

    def _run_state(self, now: float, index: int) -> RunState:
        run, expected = self._running[index], self.expected[index]
        seconds = expected.get(run.phase, 0.0)
        passed = max(now - run.since, 0.0)
        pace = self._pace(run.phase)
        usual = seconds * pace
        fraction = run.fraction
        if fraction is None:
            fraction = _by_time(passed / max(usual, _MIN_SECONDS))
        else:
            prior = _PRIOR * seconds
            if prior > 0:
                pace = (run.at - run.since + prior * pace) / (fraction * seconds + prior)
        fraction = run.shown = max(run.shown, fraction)
        here = PHASES.index(run.phase) if run.phase in PHASES else len(PHASES)
        following = {phase: expected.get(phase, 0.0) for phase in PHASES[here + 1 :]}
        before = math.fsum(expected.get(phase, 0.0) for phase in PHASES[:here])
        whole = math.fsum(expected.values())
        share = (before + fraction * seconds) / whole if whole > 0 else 0.0
        run.share = max(run.share, min(share, 1.0))
        rest = (1 - fraction) * seconds * pace
        if run.fraction is None:
            rest = max(rest, _OVERDUE * (passed - usual))
        else:
            rest = max(rest - (now - run.at), 0.0)
        left = rest + math.fsum(seconds * self._pace(phase) for phase, seconds in following.items())
        return RunState(
            index, self.schemes[index], run.phase, fraction, run.share, left, run.recovering
        )

    def _pace(self, phase: str) -> float:
        speed = self._speeds.get(_kind(phase))
        return 1.0 if speed is None else speed.pace

    def _measure_running(self) -> None:
        """Lets phases in progress that report how far they are count for the speed of others."""
        for speed in self._speeds.values():
            speed.running_taken = speed.running_expected = 0.0
        for index, run in self._running.items():
            if run.fraction is not None and run.phase in self.expected[index]:
                own = self._speeds[_kind(run.phase)]
                own.running_taken += run.at - run.since
                own.running_expected += run.fraction * self.expected[index][run.phase]

    def _left(self, running: Sequence[float]) -> float:
        """When the last run ends, from now on; `running`: when those in progress end."""
        waiting = [
            math.fsum(seconds * self._pace(phase) for phase, seconds in phases.items())
            for index, phases in enumerate(self.expected)
            if index not in self._ended and index not in self._running
        ]
        return makespan(waiting, [*running, *[0.0] * (self.jobs - len(running))])


def makespan(seconds: Iterable[float], free: Iterable[float]) -> float:
    """When the last run ends: each begins as soon as a process is free.

    `seconds`: of the runs, in order. `free`: when each process is free.
    """
    times = list(free)
    heapq.heapify(times)
    for each in seconds:
        heapq.heapreplace(times, times[0] + each)
    return max(times, default=0.0)


def _kind(phase: str) -> str:
    return _KINDS.get(phase, phase)


def _by_time(passed: float) -> float:
    """How far a phase is that has taken this multiple of its expected time; below 1."""
    if passed <= _LINEAR:
        return passed
    rest = 1 - _LINEAR
    return 1 - rest * math.exp(-(passed - _LINEAR) / rest)
