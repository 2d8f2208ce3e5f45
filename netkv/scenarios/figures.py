"""What the figures of a run mean, for the reference: those of `expect` lines and those of plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from netkv.scenarios import thresholds
from netkv.scenarios.plot import Metric


@dataclass(frozen=True)
class Figure:
    """One figure of a run, by the name that scenarios use."""

    meaning: str
    unit: str = ""


FIGURES: dict[str, Figure] = {
    "throughput_ops": Figure(
        "Operations completed over the measured part, by all clients; a retry counts once.",
        "operations/s",
    ),
    "hit_ratio": Figure(
        "Reads answered by a switch over all reads answered; none without reads or with multigets.",
        "0 to 1",
    ),
    "predicted_hit_ratio": Figure(
        "The hit ratio that the popularity distribution gives for the keys that were cached at the "
        "end of the measured part; none for schemes without a cache.",
        "0 to 1",
    ),
    "latency_us": Figure(
        "All percentiles: from the intended send time to the reply, retries included.", "µs"
    ),
    "latency_mean_us": Figure("Mean latency.", "µs"),
    "latency_p50_us": Figure("Median latency.", "µs"),
    "latency_p95_us": Figure("95th percentile of the latency.", "µs"),
    "latency_p99_us": Figure("99th percentile of the latency.", "µs"),
    "latency_p999_us": Figure("99.9th percentile of the latency.", "µs"),
    "served_by": Figure(
        "Throughput, what the servers served and what the cache did apart.", "operations/s"
    ),
    "server_load": Figure("Operations that each server completed.", "operations/s"),
    "load_imbalance": Figure("Load of the busiest server over the mean of all.", "1 or more"),
    "control_dropped": Figure(
        "Messages between switches and controllers that found a full queue, over the whole run.",
        "messages",
    ),
    "reports_dropped": Figure(
        "Reports of hot records that found their part of such a queue full.",
        "messages",
    ),
    "busiest_server_ops": Figure("Load of the busiest server.", "operations/s"),
    "keys_per_s": Figure("Keys of the reads that were answered; only with multigets.", "keys/s"),
    "groups_per_request": Figure(
        "Requests that servers got for one request of a client, on average; only with multigets."
    ),
    "coordinator_utilization": Figure(
        "Share of the time that a worker of the coordinator was busy; only with a coordinator.",
        "0 to 1",
    ),
    "lost_ops": Figure("Requests without a reply within `deadline`, retries included."),
    "retries": Figure("Requests that were sent again."),
    "unknown": Figure(
        "Write-back only: writes given up because the switch died and nobody can tell whether it "
        "had done them."
    ),
    "ignored": Figure(
        "Write-back only: answers of a switch that clients did not take, because it had died since "
        "or because what it said could not be kept."
    ),
    "preserved": Figure(
        "Write-back only: records that clients keep because only the switch has them; of a whole "
        "run the most at a time.",
        "records",
    ),
    "preserved_bytes": Figure("Write-back only: bytes of these records.", "bytes"),
    "preserved_peak": Figure(
        "Write-back only: most records that a client process kept at a time.", "records"
    ),
    "preserved_peak_bytes": Figure(
        "Write-back only: most bytes that a client process kept at a time.", "bytes"
    ),
    "cached": Figure("Records in the cache at the end of the measured part.", "records"),
    "control_plane_bytes_per_s": Figure(
        "P4Runtime messages between all switches and their controllers, both directions.",
        "bytes/s",
    ),
    "control_plane_mib_per_s": Figure("The same in MiB.", "MiB/s"),
    "recovery_time": Figure(
        "Time of the longest recovery of a switch that had lost its memory; none if there was "
        "none.",
        "s",
    ),
    "acked_writes_lost": Figure(
        "Keys whose value at the end is older than a write that was acknowledged; none if the "
        "final read-back could not run. Must be 0.",
        "keys",
    ),
    "stale_reads": Figure(
        "Reads that returned a value older than one whose write was acknowledged before the read "
        "was sent. Must be 0."
    ),
    "phantom_reads": Figure("Reads that returned a value that nobody wrote. Must be 0."),
    "violations": Figure("Reads that no history explains; none if nothing was checked. Must be 0."),
    "linearizable": Figure(
        "1 if the history of every key can be explained, 0 if one cannot; none if not every read "
        "could be judged.",
        "0 or 1",
    ),
    "failed": Figure("Runs that failed.", "runs"),
}
"""Those of `expect` lines and those of plots, together."""

OF_PLOTS: tuple[str, ...] = get_args(Metric)
OF_EXPECTATIONS: tuple[str, ...] = thresholds.METRICS
