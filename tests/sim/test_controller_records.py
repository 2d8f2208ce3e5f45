"""Bytes of records that pass through a controller (`controller_records_mib_per_s`)."""

from __future__ import annotations

from tests.sim.driving import run, small

RECORD = 27 + 128
"""Bytes of a key, a version and a value."""
CACHED = 50


def test_snapshot_counts_each_record_and_each_original_once() -> None:
    load = {"writes": 1.0, "arrivals": {"rate": 20_000}}
    rack = small("farreach", snapshot_period=0.5, hot_threshold=65_535, workload=load)
    run(rack, 0.4)
    sample = run(rack, 0.5)
    (counts,) = rack.control_statistics()
    assert counts["snapshots"] == 1
    originals, rest = divmod(counts["originals"], 3)
    assert rest == 0
    assert 0 < originals <= CACHED
    assert sample.record_bytes == (CACHED + originals) * RECORD
    assert sample.control_plane_bytes > 2 * sample.record_bytes, "P4Runtime, LOADs and copies"


def test_controller_without_records_counts_none() -> None:
    rack = small("netcache", workload={"arrivals": {"rate": 20_000}})
    assert run(rack, 0.2).record_bytes == 0
