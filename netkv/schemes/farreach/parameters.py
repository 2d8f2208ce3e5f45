"""Parameters of FarReach's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.cache_parameters import CacheParameters
from netkv.schemes.farreach.options import FarReachOptions

if TYPE_CHECKING:
    from netkv.lab.spec import RackSpec

PIPELINES = (1, 2, 4)
COLLECT_PATIENCE: Nanoseconds = 5 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class FarReachParameters(CacheParameters):
    """What a rack, and tests, may choose; the defaults are the paper's (VI-A), where it says.

    `snapshot_period`: ns from one snapshot point to the next, 0 for no snapshots. `pipelines`: of
    the switch, 1, 2 or 4. `original_patience`: ns to wait for originals when everything is loaded.
    `collect_patience`: ns without an answer after which a client is given up in a recovery.
    `incarnation_length`: ns for which the switch keeps its incarnation. `tries`: of a message,
    before its receiver is reported as silent. `max_bulk`: as `max_in_flight`, for snapshots and
    recoveries.
    """

    options: ClassVar[type[FarReachOptions]] = FarReachOptions

    sample_rate: float = 0.5
    hot_threshold: int = 20
    snapshot_period: Nanoseconds = 10 * SECOND
    pipelines: int = 1
    original_patience: Nanoseconds = 500 * MILLISECOND
    collect_patience: Nanoseconds = COLLECT_PATIENCE
    incarnation_length: Nanoseconds = 600 * SECOND
    tries: int = 12
    max_bulk: int = 256

    def __post_init__(self) -> None:
        """Raises ValueError for a parameter that cannot be."""
        # Not super(): a class with slots is made twice.
        CacheParameters.__post_init__(self)
        if self.snapshot_period < 0:
            raise ValueError(
                f"snapshot_period {self.snapshot_period}: a time in ns, or 0 for no snapshots."
            )
        if self.pipelines not in PIPELINES:
            raise ValueError(f"pipelines {self.pipelines}: a switch has 1, 2 or 4.")
        self.check_times("original_patience", "collect_patience", "incarnation_length")
        self.check_limits("tries", "max_bulk")


def of_rack(spec: RackSpec) -> FarReachParameters:
    """The parameters for a rack."""
    return FarReachParameters.of_cache(
        spec,
        snapshot_period=round(FarReachOptions.of(spec.lab).snapshot_period * SECOND),
        pipelines=spec.lab.pipelines,
        collect_patience=round(COLLECT_PATIENCE * spec.lab.scale),
    )
