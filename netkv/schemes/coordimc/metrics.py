"""What the coordinator of multigets costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.metrics.metric import SHARE, Metric
from netkv.metrics.sources import Quotient
from netkv.schemes import multiget_metrics

if TYPE_CHECKING:
    from netkv.rack.report import RackSample


def _busy(sample: RackSample) -> float:
    """Seconds that the workers were on a core."""
    return sample.coordinator.busy if sample.coordinator is not None else 0.0


def _available(sample: RackSample) -> float:
    """Seconds of all workers; 0 while the coordinator is down."""
    worked = sample.coordinator
    return worked.interval * worked.workers if worked is not None else 0.0


METRICS = (
    *multiget_metrics.METRICS,
    Metric(
        "coordinator_utilization",
        "Coordinator busy",
        "Share of the time that a worker of the coordinator was busy.",
        Quotient(_busy, _available, most=1.0),
        unit=SHARE,
        sense="lower",
    ),
)
