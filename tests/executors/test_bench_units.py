"""`netkv bench units` on units that take no time."""

from __future__ import annotations

from tests.cli.commands import Netkv


def test_units_are_measured_alone_and_on_a_cluster(netkv: Netkv) -> None:
    result = netkv("bench", "units", "--units", "12", "--length", "0.01", "--json")
    assert result.status == 0, result.err
    (row,) = result.document["rows"]
    assert (row["units"], row["simulated_s"]) == (12, 0.01)
    # Of so few units, a command with more of them may need less than one with fewer.
    assert row["share"] == row["alone_ms"] / row["cluster_ms"]
    assert row["alone_ms"] > 0
    assert row["memory_mb"] > 0
