"""Metrics of FarReach: records that clients preserve, and answers that they do not use."""

from __future__ import annotations

from netkv.metrics.metric import Metric
from netkv.metrics.sources import Gauge, Peak, Sum, client

METRICS = (
    Metric(
        "unknown",
        "Writes given up as unknown",
        "Writes given up because the switch crashed and may or may not have done them.",
        Sum(client("unknown")),
        sense="lower",
        repeats="sum",
        time="sum",
        absent=0,
    ),
    Metric(
        "ignored",
        "Ignored answers of a switch",
        "Answers of a switch that clients did not take, because it had died since "
        "or because what it said could not be kept.",
        Sum(client("ignored")),
        sense="lower",
        time="sum",
        absent=0,
    ),
    Metric(
        "preserved",
        "Records that clients preserve",
        "Records that clients keep because only the switch has them; of a whole "
        "run the most at a time.",
        Gauge(client("preserved")),
        unit="records",
        sense="lower",
        time="last",
        absent=0,
        whole="preserved_peak",
    ),
    Metric(
        "preserved_bytes",
        "Preserved by clients",
        "Bytes of these records.",
        Gauge(client("preserved_bytes")),
        unit="bytes",
        sense="lower",
        time="last",
        absent=0,
        whole="preserved_peak_bytes",
    ),
    Metric(
        "preserved_peak",
        "Most records preserved",
        "Most records that a client process kept at a time.",
        Peak(client("preserved_peak")),
        unit="records",
        sense="lower",
        absent=0,
    ),
    Metric(
        "preserved_peak_bytes",
        "Most preserved by clients",
        "Most bytes that a client process kept at a time.",
        Peak(client("preserved_peak_bytes")),
        unit="bytes",
        sense="lower",
        absent=0,
    ),
)
