"""Metrics of LaKe, from the registers of its cards."""

from __future__ import annotations

from netkv.metrics.metric import SHARE, Metric
from netkv.metrics.readings import cards
from netkv.metrics.sources import Quotient

_LINE_HITS = ("hash_hits", "data_hits")
_LINE_READS = (*_LINE_HITS, "hash_misses", "data_misses")

METRICS = (
    Metric(
        "shared_cache_hit_ratio",
        "Hit ratio of the shared caches",
        "Reads of lines that the two shared caches answered over all reads of lines; 0 with "
        "`shared_caches: false`, none without DRAM.",
        Quotient(cards(*_LINE_HITS), cards(*_LINE_READS)),
        unit=SHARE,
        sense="higher",
    ),
    Metric(
        "dram_read_cycles",
        "Latency of a read at the DRAM",
        "Cycles of the card from the request of a line at the DRAM to its data, on average.",
        Quotient(cards("dram_read_cycles"), cards("dram_reads")),
        unit="cycles",
        sense="lower",
    ),
    Metric(
        "dram_reads_per_s",
        "Reads of the DRAM",
        "Lines that the cards read from their DRAM.",
        Quotient(cards("dram_reads"), empty=0.0),
        unit="lines/s",
    ),
    Metric(
        "element_cycles_per_s",
        "Busy cycles of processing elements",
        "Cycles in which processing elements were busy, added up over the elements.",
        Quotient(cards("busy_cycles"), empty=0.0),
        unit="cycles/s",
    ),
)
