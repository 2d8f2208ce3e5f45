"""A row of the table of metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from netkv.metrics.sources import Derived, Gauge, Latest, Peak, Source, Sum, Value

if TYPE_CHECKING:
    from netkv.schemes import Scheme

Sense: TypeAlias = Literal["higher", "lower", "zero"]
"""Which values are better. `zero`: every other value is an error of the system."""
Repeats: TypeAlias = Literal["mean", "sum", "all"]
"""How the values of repeated runs become one. `all`: true if all of them are."""
OverTime: TypeAlias = Literal["rate", "ratio", "sum", "last", "worst"]
"""How the values of neighbouring intervals become one. Rates and ratios are means weighted by
time, which is exact for rates only. `worst` is the largest."""
SHARE = "0 to 1"
"""Unit of what is shown in percent."""
TRUTH = "0 or 1"
"""Unit of what is true or false."""
AT_LEAST_ONE = "1 or more"
"""Unit of a quotient that cannot be smaller."""


def _every_scheme(_scheme: Scheme) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Metric:
    """One thing that is measured."""

    name: str
    """In documents, `expect` lines, plots and the run store."""
    label: str
    """On axes and in tables."""
    meaning: str
    """Sentences for the reference."""
    source: Source
    """How its value comes from the samples of a rack."""
    unit: str = ""
    """Unit, or range of a number without one; empty for plain counts."""
    sense: Sense | None = None
    repeats: Repeats = "mean"
    time: OverTime | None = None
    """None: it is known of whole runs only."""
    absent: Value = None
    """Its value for runs of schemes that do not have it, and for runs without samples."""
    whole: str | None = None
    """Of a metric that is known over time only: the metric that stands for it of a whole run.
    Without one that is its last value in the measured part."""
    column: str = ""
    """Heading of its column in comparisons; empty: it has none. Metrics with the same heading are
    added up."""
    compared: bool = False
    """Whether comparisons have it as data; those with a column do."""
    summary: bool = False
    """Whether the summary of a scenario has it."""
    applies: Callable[[Scheme], bool] = _every_scheme
    """Which schemes have it, of a metric that is not a scheme's own."""
    shown: Callable[[Scheme], bool] = _every_scheme
    """For which schemes tables and figures show it; for the others it is a constant."""

    @property
    def recorded(self) -> bool:
        """Whether results and the run store hold it; others are derived from what they hold."""
        return not isinstance(self.source, Derived | Gauge)

    @property
    def is_count(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.source, Sum | Peak | Latest | Gauge)

    @property
    def sampled(self) -> bool:
        """Whether each interval of a run has it."""
        return self.time is not None and not isinstance(self.source, Derived)

    @property
    def of_runs(self) -> bool:
        """Whether a whole run has it, so that a threshold can be about it."""
        return not isinstance(self.source, Gauge)
