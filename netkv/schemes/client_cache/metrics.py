"""Metrics of the cache in clients, from the registers of its cards."""

from __future__ import annotations

from netkv.metrics.metric import Metric
from netkv.metrics.readings import cards
from netkv.metrics.sources import Quotient

METRICS = (
    Metric(
        "card_fills_per_s",
        "Values stored in cards",
        "Replies to reads that missed whose value the cards stored.",
        Quotient(cards("filled"), empty=0.0),
        unit="values/s",
    ),
    Metric(
        "card_evictions_per_s",
        "Values evicted from cards",
        "Entries that made room for another key.",
        Quotient(cards("evicted"), empty=0.0),
        unit="values/s",
    ),
    Metric(
        "card_refusals_per_s",
        "Values not stored in cards",
        "Replies to reads that missed whose value may have changed meanwhile.",
        Quotient(cards("fill_refused"), empty=0.0),
        unit="values/s",
    ),
)
