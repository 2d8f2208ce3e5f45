"""The metrics of all runs, in the order of tables and documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netkv.metrics.metric import AT_LEAST_ONE, SHARE, TRUTH, Metric, OverTime, Traits
from netkv.metrics.readings import client, links, rack, rack_seconds
from netkv.metrics.sources import AtEnd, Derived, Gauge, Latest, Peak, Quotient, Stated, Sum

MIB = 2**20


def imbalance(load: Iterable[float | None]) -> float | None:
    """Load of the busiest server over the mean load: 1 is perfectly even; None without load, or if
    that of a server is unknown."""
    values = list(load)
    known = [value for value in values if value is not None]
    total = sum(known)
    return max(known) * len(known) / total if total > 0 and len(known) == len(values) else None


def _counts_hits(traits: Traits) -> bool:
    return not traits.multigets


def _refuses_writes(traits: Traits) -> bool:
    return traits.conditional_writes


def _link_bytes(kind: str, where: str) -> Metric:
    return Metric(
        f"{kind}_link_bytes",
        f"Bytes on links {where}",
        f"Bytes of frames on the links {where}, in both directions, for each completed operation; "
        "none live.",
        Quotient(links(kind), client("completed")),
        unit="bytes/operation",
        sense="lower",
    )


def _latency(field: str, label: str, meaning: str, time: OverTime = "worst", **more: Any) -> Metric:
    return Metric(
        f"latency_{field}_us",
        label,
        meaning,
        Derived(lambda run: getattr(run.latency_us, field)),
        unit="µs",
        sense="lower",
        time=time,
        **more,
    )


def _longest_recovery(run: Any) -> float | None:
    return max((each.seconds for each in run.recoveries), default=None)


COMMON: tuple[Metric, ...] = (
    Metric(
        "throughput_ops",
        "Throughput",
        "Operations completed by all clients; a retry counts once.",
        Quotient(client("completed"), empty=0.0),
        unit="operations/s",
        sense="higher",
        time="rate",
        absent=0.0,
        column="ops/s",
        summary=True,
    ),
    Metric(
        "requests_ops",
        "Requests answered",
        "Requests of clients answered: a read-modify-write is two, and one operation.",
        Quotient(client("reads", "writes"), empty=0.0),
        unit="requests/s",
        sense="higher",
        time="rate",
        absent=0.0,
    ),
    _latency("mean", "Mean latency", "Mean latency.", "ratio", column="mean latency", summary=True),
    _latency("p50", "Median latency", "Median latency."),
    _latency("p95", "95th percentile latency", "95th percentile of the latency."),
    _latency(
        "p99",
        "99th percentile latency",
        "99th percentile of the latency.",
        column="p99 latency",
        summary=True,
    ),
    _latency("p999", "99.9th percentile latency", "99.9th percentile of the latency."),
    Metric(
        "hit_ratio",
        "Hit ratio",
        "Reads answered by a switch or an FPGA card over all reads answered; none without reads, "
        "or where a read may be for several keys.",
        Quotient(client("hits"), client("reads")),
        unit=SHARE,
        sense="higher",
        time="ratio",
        column="hit ratio",
        summary=True,
        applies=_counts_hits,
        shown=lambda traits: traits.caches,
    ),
    Metric(
        "hits_ops",
        "Reads answered by caches",
        "Reads that a switch or an FPGA card answered; none in runs of versions that did not count "
        "them by themselves.",
        Quotient(client("hits"), empty=0.0),
        unit="operations/s",
        sense="higher",
        time="rate",
        shown=lambda traits: traits.caches,
    ),
    Metric(
        "predicted_hit_ratio",
        "Predicted hit ratio",
        "The hit ratio that the popularity distribution gives for the keys that were cached at the "
        "end of the measured part; none for schemes without a cache in the switch.",
        Stated(),
        unit=SHARE,
        column="predicted",
        summary=True,
    ),
    Metric(
        "load_imbalance",
        "Load of the busiest server over the mean",
        "Load of the busiest server over the mean of all.",
        Derived(
            lambda run: imbalance(run.server_load), of_row=lambda row: imbalance(row.server_load)
        ),
        unit=AT_LEAST_ONE,
        sense="lower",
        time="ratio",
        column="load max/mean",
    ),
    Metric(
        "busiest_server_ops",
        "Load of the busiest server",
        "Load of the busiest server.",
        Derived(lambda run: max(run.server_load, default=None)),
        unit="operations/s",
    ),
    Metric(
        "completed_ops",
        "Completed operations",
        "Operations completed over the measured part.",
        Sum(client("completed"), "measured"),
        sense="higher",
        absent=0,
    ),
    Metric(
        "control_plane_bytes_per_s",
        "Control plane",
        "P4Runtime messages between all switches and their controllers, both directions.",
        Quotient(rack("control_plane_bytes"), rack_seconds, empty=0.0),
        unit="bytes/s",
        sense="lower",
        time="rate",
        absent=0.0,
    ),
    Metric(
        "control_plane_mib_per_s",
        "Control plane",
        "The same in MiB.",
        Quotient(rack("control_plane_bytes", divisor=MIB), rack_seconds, empty=0.0),
        unit="MiB/s",
        sense="lower",
        time="rate",
        absent=0.0,
        column="control plane",
        summary=True,
    ),
    Metric(
        "control_dropped",
        "Dropped messages",
        "Messages between switches and controllers that were dropped at a full queue, over the "
        "whole run.",
        Sum(rack("control_dropped"), "whole run"),
        unit="messages",
        sense="lower",
        absent=0,
    ),
    Metric(
        "reports_dropped",
        "Dropped reports of hot records",
        "Reports of hot records that were dropped at the lower limit for reports in such a queue.",
        Sum(rack("reports_dropped"), "whole run"),
        unit="messages",
        sense="lower",
        absent=0,
    ),
    Metric(
        "dropped_frames",
        "Dropped frames",
        "Frames that full queues of switches, servers and clients dropped, until the measured "
        "requests had ended; none in runs of versions that did not count them.",
        Sum(rack("dropped_frames")),
        unit="frames",
        sense="lower",
        repeats="sum",
        time="sum",
    ),
    Metric(
        "recirculations_per_s",
        "Recirculations",
        "Further passes of packets through a switch, because its program recirculates or resubmits "
        "them; none if the switch does not count them.",
        Quotient(rack("recirculated"), rack_seconds),
        unit="packets/s",
        sense="lower",
        time="rate",
    ),
    Metric(
        "cached",
        "Cached records",
        "Records in the cache at the end of the interval, as the controller knows; while it is "
        "down, as it knew last. Of a whole run at the end of the measured part.",
        Gauge(rack("cached")),
        unit="records",
        time="last",
        absent=0,
    ),
    Metric(
        "recovery_time",
        "Recovery",
        "Time of the longest recovery of a switch that had lost its memory; none if there was "
        "none.",
        Derived(_longest_recovery),
        unit="s",
        sense="lower",
        compared=True,
        summary=True,
    ),
    Metric(
        "lost_ops",
        "Lost operations",
        "Requests without a reply within `deadline`, retries included.",
        Sum(client("lost")),
        sense="lower",
        repeats="sum",
        time="sum",
        absent=0,
        column="lost ops",
        summary=True,
    ),
    Metric(
        "queued_ops",
        "Operations still queued",
        "Operations of an open loop that had arrived and waited to be sent when the measured part "
        "ended. They are discarded: they are neither lost nor in the latency. None in runs of "
        "versions that did not count them.",
        Sum(client("discarded")),
        sense="lower",
        repeats="sum",
        column="queued ops",
        rare=True,
        summary=True,
    ),
    Metric(
        "unsent_ops",
        "Operations never queued",
        "Operations of an open loop that arrived when the queue was full. They are neither lost "
        "nor in the latency.",
        Sum(client("unsent")),
        sense="lower",
        repeats="sum",
        time="sum",
        column="queued ops",
        rare=True,
    ),
    Metric(
        "pending_ops",
        "Operations under way at the end",
        "Operations that were under way when the measured part ended. They are in none of its "
        "figures but `lost_ops`, which has those that were not answered afterwards.",
        AtEnd(client("outstanding")),
        repeats="sum",
    ),
    Metric(
        "retries",
        "Retries",
        "Retransmitted requests; of a run, those until its measured requests had ended.",
        Sum(client("retries")),
        sense="lower",
        time="sum",
        absent=0,
    ),
    Metric(
        "refused_writes",
        "Refused writes",
        "Conditional writes that were refused because their key had changed.",
        Sum(client("conflicts")),
        time="sum",
        absent=0,
        applies=_refuses_writes,
    ),
    Metric(
        "stale_reads",
        "Stale reads",
        "Reads that returned a value older than one whose write was acknowledged before the read "
        "was sent. Must be 0.",
        Sum(client("stale_reads"), "whole run"),
        sense="zero",
        repeats="sum",
        time="sum",
        absent=0,
        column="stale reads",
        summary=True,
    ),
    Metric(
        "stale_ratio",
        "Share of stale reads",
        "Stale reads over all reads.",
        Quotient(client("stale_reads"), client("reads")),
        unit=SHARE,
        sense="lower",
    ),
    Metric(
        "staleness_us",
        "Staleness",
        "For how long the value of a stale read had been replaced when the read was sent, on "
        "average: since a write that began after it was acknowledged. None without stale reads.",
        Quotient(client("stale_ns", divisor=1e3), client("stale_reads")),
        unit="µs",
        sense="lower",
    ),
    Metric(
        "max_staleness_us",
        "Longest staleness",
        "The longest of these times.",
        Peak(client("longest_stale_ns", divisor=1e3)),
        unit="µs",
        sense="lower",
        time="worst",
        absent=0,
    ),
    Metric(
        "phantom_reads",
        "Phantom reads",
        "Reads that returned a value that no client wrote, or that of a refused write. Must be 0.",
        Sum(client("phantom_reads"), "whole run"),
        sense="zero",
        repeats="sum",
        absent=0,
        column="stale reads",
    ),
    Metric(
        "acked_writes_lost",
        "Acknowledged writes lost",
        "Keys whose value at the end is older than a write that was acknowledged; none if the "
        "final read-back could not run. Must be 0.",
        Stated(),
        unit="keys",
        sense="zero",
        repeats="sum",
        column="writes lost",
        summary=True,
    ),
    Metric(
        "linearizable",
        "Linearizable",
        "1 if the history of every key can be explained, 0 if one cannot; none if nothing was "
        "checked, or not every read could be judged.",
        Latest("linearizable"),
        unit=TRUTH,
        sense="higher",
        repeats="all",
        compared=True,
        summary=True,
    ),
    Metric(
        "checked_ops",
        "Checked operations",
        "Operations that the history checker judged, warm-up and read-back included.",
        Latest("checked_ops"),
        absent=0,
    ),
    Metric(
        "unchecked_keys",
        "Unchecked keys",
        "Keys of which not every read could be judged.",
        Latest("unchecked_keys"),
        unit="keys",
        sense="lower",
        absent=0,
    ),
    Metric(
        "violation_count",
        "Violations found",
        "Reads whose results contradict every possible order of operations. Must be 0.",
        Latest("violation_count"),
        sense="zero",
        repeats="sum",
        absent=0,
    ),
    Metric(
        "violations",
        "Violations",
        "The same; none if nothing was checked.",
        Derived(lambda run: run.violation_count if run.checked_ops else None),
        sense="zero",
        repeats="sum",
    ),
    _link_bytes("client", "between clients and switches"),
    _link_bytes("server", "between servers and switches"),
    _link_bytes("switch", "between switches"),
    Metric(
        "failed",
        "Failed runs",
        "Runs that failed.",
        Derived(lambda run: float(run.status == "failed")),
        unit="runs",
        sense="zero",
        repeats="sum",
    ),
)
