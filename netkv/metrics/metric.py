"""A row of the table of metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from netkv.metrics.sources import AtEnd, Derived, Gauge, Latest, Peak, Source, Sum, Value


class Traits(Protocol):
    """What decides which metrics a scheme has (`netkv.schemes.scheme.Traits`)."""

    @property
    def caches(self) -> bool: ...

    @property
    def multigets(self) -> bool: ...

    @property
    def conditional_writes(self) -> bool: ...


Sense: TypeAlias = Literal["higher", "lower", "zero"]
"""Which values are better. `zero`: every other value is an error of the system."""
Repeats: TypeAlias = Literal["mean", "sum", "all"]
"""How the values of repeated runs are combined. `all`: true if all of them are."""
OverTime: TypeAlias = Literal["rate", "ratio", "sum", "last", "worst"]
"""How the values of neighbouring intervals are combined. Rates and ratios are means weighted by
time, which is exact for rates only. `worst` is the largest."""
SHARE = "0 to 1"
"""Unit of values that are shown in percent."""
TRUTH = "0 or 1"
"""Unit of truth values."""
AT_LEAST_ONE = "1 or more"
"""Unit of a quotient that is at least 1."""


def _every_scheme(_traits: Traits) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Metric:
    """The declaration of a metric."""

    name: str
    """Name in documents, `expect` lines, plots and the run store."""
    label: str
    """Label of axes and tables."""
    meaning: str
    """Description for the reference."""
    source: Source
    """How its value is computed from the samples of a rack."""
    unit: str = ""
    """Unit, or range of a number without one; empty for plain counts."""
    sense: Sense | None = None
    repeats: Repeats = "mean"
    time: OverTime | None = None
    """None: it exists for whole runs only."""
    absent: Value = None
    """Its value for runs of schemes without it, for runs without samples, and for runs of versions
    that did not have the metric. None: it is unknown."""
    whole: str | None = None
    """For a metric that exists over time only: the metric of the whole run that replaces it. None:
    the last value in the measured part."""
    column: str = ""
    """Heading of its column in comparisons; empty: it has none. Metrics with the same heading are
    added up."""
    rare: bool = False
    """Whether its column is shown only if a value differs from 0."""
    compared: bool = False
    """Whether the data of comparisons contain it although it has no column."""
    summary: bool = False
    """Whether the summary of a scenario contains it."""
    applies: Callable[[Traits], bool] = _every_scheme
    """Whether a scheme has it; for common metrics."""
    shown: Callable[[Traits], bool] = _every_scheme
    """Whether tables and figures show it for a scheme. For the others it is a constant."""

    @property
    def recorded(self) -> bool:
        """Whether results and the run store contain it; other metrics are derived from them."""
        return not isinstance(self.source, Derived | Gauge)

    @property
    def is_count(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.source, Sum | Peak | Latest | AtEnd | Gauge)

    @property
    def sampled(self) -> bool:
        """Whether each interval of a run has it."""
        return self.time is not None and not isinstance(self.source, Derived)

    @property
    def of_runs(self) -> bool:
        """Whether a whole run has it, so that a threshold can be about it."""
        return not isinstance(self.source, Gauge)
