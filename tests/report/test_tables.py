"""Tables for the terminal: the hit ratio of schemes without a cache."""

from __future__ import annotations

from netkv.report import tables
from netkv.runs import Store
from netkv.runs.compare import compare
from tests.report.terminal import text_of
from tests.runs.recorded_runs import record_comparison


def test_scheme_without_a_cache_has_no_hit_ratio(store: Store) -> None:
    records = store.records(record_comparison(store))
    assert [record.hit_ratio for record in records] == [0.0, 0.481]
    found = [tables.comparison(compare(records)), tables.run_list(records)]
    found += [tables.run_details(record) for record in records]
    text = text_of(*found, width=300)
    assert text.count("48.1%") == 3
    assert " 0.0%" not in text
