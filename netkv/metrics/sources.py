"""Sources of metrics: how a value comes from the samples of a rack.

A source reads each sample of a rack and folds it into a total, from which the value of the run
follows. Samples of all phases are folded in the order in which they were taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from netkv.rack.report import RackSample

Value: TypeAlias = bool | int | float | None
Reading: TypeAlias = Callable[["RackSample"], Any]
"""Takes a number from a sample."""
Part: TypeAlias = Literal["measured", "after warm-up", "whole run"]
"""Which samples count."""


def client(name: str) -> Reading:
    """A counter of the load generator, by its name: its rise in the interval, or its level."""
    return lambda sample: sample.client.counts.get(name, 0)


def seconds(sample: RackSample) -> float:
    """Length of the interval."""
    return sample.client.interval


class Source:
    """Base of all sources: nothing is read from samples."""

    def of_interval(self, sample: RackSample) -> Value:  # noqa: ARG002 (for subclasses)
        """The value of one interval."""
        return None

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        """The total with a sample; None before the first one."""
        return total

    def of_run(self, total: Any) -> Value:
        """The value of a run from its total; None stands for the metric's absent value."""
        return total  # type: ignore[no-any-return]  # a number, or None


@dataclass(frozen=True)
class Sum(Source):
    """What was counted in the intervals, added up."""

    reading: Reading
    part: Part = "after warm-up"

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        counts = _counts(self.part, phase)
        return (total or 0) + self.reading(sample) if counts else total


@dataclass(frozen=True)
class Peak(Source):
    """The largest value of all samples: a process that was started again begins at zero."""

    reading: Reading

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        return max(total or 0, self.reading(sample))


@dataclass(frozen=True)
class Latest(Source):
    """What the load generator reported last, over its whole time; it may not report it always."""

    name: str

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        return sample.client_statistics.get(self.name, total)


@dataclass(frozen=True)
class Gauge(Source):
    """A level at the end of each interval; whole runs have none."""

    reading: Reading

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number


@dataclass(frozen=True)
class Quotient(Source):
    """One sum over another, in the measured part."""

    above: Reading
    below: Reading = seconds
    empty: Value = None
    """If the sum below is 0."""
    most: float | None = None
    """A limit, of shares that measuring may carry beyond it."""

    def of_interval(self, sample: RackSample) -> Value:
        return self._divide(self.above(sample), self.below(sample))

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        if phase != "measure":
            return total
        above, below = total or (0, 0)
        return above + self.above(sample), below + self.below(sample)

    def of_run(self, total: Any) -> Value:
        return self._divide(*(total or (0, 0)))

    def _divide(self, above: float, below: float) -> Value:
        if below <= 0:
            return self.empty
        return above / below if self.most is None else min(above / below, self.most)


class Stated(Source):
    """What the runner finds out after the measured part."""


@dataclass(frozen=True)
class Derived(Source):
    """Computed from a run's other figures; documents do not have it."""

    of: Callable[[Any], Value]
    """From a run: a `RunResult`, or a record of the store."""
    of_row: Callable[[Any], Value] | None = None
    """From one row of a run's series, if it is none of the series itself."""


def _counts(part: Part, phase: str) -> bool:
    match part:
        case "measured":
            return phase == "measure"
        case "after warm-up":
            # What is lost or retried before the measured part belongs to the warm-up.
            return phase != "warmup"
        case _:
            return True
