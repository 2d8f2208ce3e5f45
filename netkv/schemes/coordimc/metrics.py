"""Metrics of CoordiMC: those of multigets, and the utilization of the coordinator."""

from __future__ import annotations

from netkv.kits.multiget import metrics as multiget_metrics
from netkv.metrics.metric import SHARE, Metric
from netkv.metrics.readings import coordinator
from netkv.metrics.sources import Quotient

METRICS = (
    *multiget_metrics.METRICS,
    Metric(
        "coordinator_utilization",
        "Coordinator busy",
        "Share of the time that a worker of the coordinator was busy.",
        Quotient(coordinator("busy"), coordinator("available"), limit=1.0),
        unit=SHARE,
        sense="lower",
    ),
)
