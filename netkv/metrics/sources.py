"""Sources of metrics: they compute the value of a metric from the samples of a rack.

A source folds each sample of a rack into a total, and computes the value of the run from the total.
Samples of all phases are folded in the order in which they were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from netkv.metrics.readings import Reading, seconds

if TYPE_CHECKING:
    from netkv.model.report import RackSample

Value: TypeAlias = bool | int | float | None
Part: TypeAlias = Literal["measured", "load", "whole run"]
"""The part of a run whose samples count; `load`: the measured part, and until the requests that are
then under way have ended."""


class Source:
    """Base of all sources; it ignores samples."""

    def of_interval(self, sample: RackSample) -> Value:  # noqa: ARG002 (for subclasses)
        """The value of one interval."""
        return None

    @property
    def readings(self) -> Iterable[Reading]:
        """The numbers of a sample that it computes with."""
        return [each for each in vars(self).values() if isinstance(each, Reading)]

    @property
    def has_intervals(self) -> bool:
        """Whether each interval has a value."""
        return type(self).of_interval is not Source.of_interval

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        """Add a sample to the total, which is None before the first one; returns the new total."""
        return total

    def of_run(self, total: Any) -> Value:
        """The value of a run from its total; None stands for the metric's absent value."""
        return total  # type: ignore[no-any-return]  # a number, or None


@dataclass(frozen=True)
class Sum(Source):
    """The sum of a count over the intervals."""

    reading: Reading
    part: Part = "load"

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        counts = _counts(self.part, phase)
        return (total or 0) + self.reading(sample) if counts else total


@dataclass(frozen=True)
class Peak(Source):
    """The largest value of all samples; a restarted process begins at 0 again."""

    reading: Reading

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        return max(total or 0, self.reading(sample))


@dataclass(frozen=True)
class Latest(Source):
    """The last value of a finding of the load generator; some samples may lack it."""

    name: str

    @property
    def readings(self) -> Iterable[Reading]:
        return [Reading("findings", (self.name,))]

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:  # noqa: ARG002
        return sample.client_statistics.get(self.name, total)


@dataclass(frozen=True)
class AtEnd(Source):
    """A level at the end of the measured part."""

    reading: Reading

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        return self.reading(sample) if phase == "measure" else total


@dataclass(frozen=True)
class Gauge(Source):
    """A level at the end of each interval; whole runs have none."""

    reading: Reading

    def of_interval(self, sample: RackSample) -> Value:
        return self.reading(sample)  # type: ignore[no-any-return]  # a number


@dataclass(frozen=True)
class Quotient(Source):
    """One sum over another, in the measured part. Samples of which a number is unknown do not
    count."""

    above: Reading
    below: Reading = seconds
    empty: Value = None
    """The value if the divisor is 0."""
    limit: float | None = None
    """An upper limit, for shares that exceed it by errors of measurement."""

    def of_interval(self, sample: RackSample) -> Value:
        return self._divide(self.above(sample), self.below(sample))

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        if phase != "measure":
            return total
        more = self.above(sample), self.below(sample)
        if None in more:
            return total
        above, below = total or (0, 0)
        return above + more[0], below + more[1]

    def of_run(self, total: Any) -> Value:
        return self._divide(*(total or (0, 0)))

    def _divide(self, above: float | None, below: float | None) -> Value:
        if above is None or below is None:
            return None
        if below <= 0:
            return self.empty
        return above / below if self.limit is None else min(above / below, self.limit)


class Stated(Source):
    """A value that the runner determines after the measured part."""


@dataclass(frozen=True)
class Derived(Source):
    """A value that is computed from a run's other figures; documents do not contain it."""

    of: Callable[[Any], Value]
    """Computes it from a run: a `RunResult`, or a record of the store."""
    of_row: Callable[[Any], Value] | None = None
    """Computes it from one row of a run's series; None: the series contain it, or it has none."""


def _counts(part: Part, phase: str) -> bool:
    match part:
        case "measured":
            return phase == "measure"
        case "load":
            # What is lost before and after belongs to the warm-up and the verification.
            return phase in ("measure", "drain")
        case _:
            return True
