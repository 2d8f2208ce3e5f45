"""Metrics of the cache in clients, from the registers of its cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netkv.metrics.card_counts import of_name
from netkv.metrics.metric import Metric
from netkv.metrics.sources import Quotient

if TYPE_CHECKING:
    from netkv.model.report import RackSample


def _counted(name: str) -> Callable[[RackSample], int]:
    """What a counter has counted in an interval, added up over the functions."""
    return lambda sample: of_name(sample.cards, name)


METRICS = (
    Metric(
        "card_fills_per_s",
        "Values stored in cards",
        "Replies to reads that missed whose value the cards stored.",
        Quotient(_counted("filled"), empty=0.0),
        unit="values/s",
    ),
    Metric(
        "card_evictions_per_s",
        "Values evicted from cards",
        "Entries that made room for another key.",
        Quotient(_counted("evicted"), empty=0.0),
        unit="values/s",
    ),
    Metric(
        "card_refusals_per_s",
        "Values not stored in cards",
        "Replies to reads that missed whose value may have changed meanwhile.",
        Quotient(_counted("fill_refused"), empty=0.0),
        unit="values/s",
    ),
)
