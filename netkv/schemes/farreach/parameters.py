"""Parameters of FarReach's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.schemes.farreach.options import FarReachOptions

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack

PIPELINES = (1, 2, 4)
COLLECT_PATIENCE: Nanoseconds = 5 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class FarReachParameters(WriteBackParameters):
    """Parameters that a rack or a test sets.

    `snapshot_period`: ns from the beginning of one snapshot to the next, 0 for no snapshots.
    `pipelines`: of the switch, 1, 2 or 4. `original_patience`: ns to wait for originals after the
    last entry is loaded. `collect_patience`: ns without an answer after which a recovery gives up a
    client.
    """

    options: ClassVar[type[FarReachOptions]] = FarReachOptions

    snapshot_period: Nanoseconds = 10 * SECOND
    pipelines: int = 1
    original_patience: Nanoseconds = 500 * MILLISECOND
    collect_patience: Nanoseconds = COLLECT_PATIENCE

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid parameter."""
        WriteBackParameters.__post_init__(self)
        if self.snapshot_period < 0:
            raise ValueError(
                f"snapshot_period {self.snapshot_period}: a time in ns, or 0 for no snapshots."
            )
        if self.pipelines not in PIPELINES:
            raise ValueError(f"pipelines {self.pipelines}: a switch has 1, 2 or 4.")
        self.check_times("original_patience", "collect_patience")


def of_rack(spec: GenericRack) -> FarReachParameters:
    """The parameters for a rack."""
    return FarReachParameters.of_cache(
        spec,
        snapshot_period=round(FarReachOptions.of(spec.lab).snapshot_period * SECOND),
        pipelines=spec.lab.pipelines,
        collect_patience=round(COLLECT_PATIENCE * spec.lab.scale),
    )
