"""Parameters of control planes of write-back caches."""

from __future__ import annotations

from dataclasses import dataclass

from netkv.control.base import SECOND, Nanoseconds
from netkv.control.cache_parameters import CacheParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackParameters(CacheParameters):
    """Parameters of every write-back cache. The defaults are the paper's (VI-A), where it has any.

    `incarnation_length`: ns for which a switch keeps its incarnation. `tries`: transmissions of a
    request before its receiver is reported as silent. `max_bulk`: like `max_in_flight`, for
    snapshots and recoveries.
    """

    sample_rate: float = 0.5
    hot_threshold: int = 20
    incarnation_length: Nanoseconds = 600 * SECOND
    tries: int = 12
    max_bulk: int = 256

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid parameter."""
        # Not super(): `dataclass(slots=True)` creates the class a second time.
        CacheParameters.__post_init__(self)
        self.check_times("incarnation_length")
        self.check_limits("tries", "max_bulk")
