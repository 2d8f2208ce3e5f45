"""Metrics of FarReach: records that clients preserve, and answers that they ignore."""

from __future__ import annotations

from netkv.metrics.common import MIB
from netkv.metrics.metric import Metric
from netkv.metrics.readings import client, rack, rack_seconds
from netkv.metrics.sources import Gauge, Peak, Quotient, Sum

METRICS = (
    Metric(
        "unknown",
        "Writes given up as unknown",
        "Writes with an unknown outcome, because the switch crashed before it answered.",
        Sum(client("unknown")),
        sense="lower",
        repeats="sum",
        time="sum",
        absent=0,
    ),
    Metric(
        "ignored",
        "Ignored answers of a switch",
        "Answers of a switch that clients ignored: the answer is from before a crash of the "
        "switch, or its record cannot be preserved because the client is not registered.",
        Sum(client("ignored")),
        sense="lower",
        time="sum",
        absent=0,
    ),
    Metric(
        "preserved",
        "Records that clients preserve",
        "Records of which clients keep copies, because only the switch has them; of a whole run "
        "the maximum.",
        Gauge(client("preserved")),
        unit="records",
        sense="lower",
        time="last",
        absent=0,
        whole="preserved_peak",
    ),
    Metric(
        "preserved_bytes",
        "Bytes that clients preserve",
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
        "Peak of preserved records",
        "Maximum of the records that a client process preserved.",
        Peak(client("preserved_peak")),
        unit="records",
        sense="lower",
        absent=0,
    ),
    Metric(
        "preserved_peak_bytes",
        "Peak of preserved bytes",
        "Maximum of the bytes that a client process preserved.",
        Peak(client("preserved_peak_bytes")),
        unit="bytes",
        sense="lower",
        absent=0,
    ),
    Metric(
        "controller_records_mib_per_s",
        "Records through the controller",
        "Records (keys, versions, values) of admissions, evictions and snapshots that passed "
        "through the controller, each once, in MiB: an original of a snapshot counts beside the "
        "record that was loaded, its copies do not, and neither do the messages around records.",
        Quotient(rack("record_bytes", divisor=MIB), rack_seconds, empty=0.0),
        unit="MiB/s",
        sense="lower",
        time="rate",
    ),
)
