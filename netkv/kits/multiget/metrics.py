"""Metrics that all schemes for multigets have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netkv.metrics.metric import Metric
from netkv.metrics.readings import Reading, client, coordinator
from netkv.metrics.sources import Quotient, Source, Value

if TYPE_CHECKING:
    from netkv.model.report import RackSample


@dataclass(frozen=True)
class _Groups(Source):
    """Requests to servers for one request of a client. The coordinator counts them if there is
    one; otherwise the clients do."""

    split: Reading
    groups: Reading
    completed: Reading

    def fold(self, total: Any, phase: str, sample: RackSample) -> Any:
        if phase != "measure":
            return total
        split, groups, completed = total or (0, 0, 0)
        return (
            split + (self.split(sample) or 0),
            groups + self.groups(sample),
            completed + self.completed(sample),
        )

    def of_run(self, total: Any) -> Value:
        split, groups, completed = total or (0, 0, 0)
        return (split or groups) / completed if completed else None


METRICS = (
    Metric(
        "keys_per_s",
        "Keys read",
        "Keys of the reads that were answered.",
        Quotient(client("keys_read"), empty=0.0),
        unit="keys/s",
        sense="higher",
    ),
    Metric(
        "groups_per_request",
        "Requests to servers per request",
        "Requests to servers for one request of a client, on average.",
        _Groups(coordinator("groups"), client("groups"), client("completed")),
        sense="lower",
    ),
)
