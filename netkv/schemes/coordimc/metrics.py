"""Metrics of CoordiMC: those of multigets, and the utilization of the coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.kits.multiget import metrics as multiget_metrics
from netkv.metrics.metric import SHARE, Metric
from netkv.metrics.sources import Quotient

if TYPE_CHECKING:
    from netkv.model.report import RackSample


def _busy(sample: RackSample) -> float:
    """Processor time of the workers in seconds."""
    return sample.coordinator.busy if sample.coordinator is not None else 0.0


def _available(sample: RackSample) -> float:
    """Wall time times the number of workers, in seconds; 0 while the coordinator is down."""
    worked = sample.coordinator
    return worked.interval * worked.workers if worked is not None else 0.0


METRICS = (
    *multiget_metrics.METRICS,
    Metric(
        "coordinator_utilization",
        "Coordinator busy",
        "Share of the time that a worker of the coordinator was busy.",
        Quotient(_busy, _available, limit=1.0),
        unit=SHARE,
        sense="lower",
    ),
)
