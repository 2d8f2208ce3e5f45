"""`netkv bench units` on units that take no time."""

from __future__ import annotations

from tests.cli.commands import Netkv


def test_units_on_a_cluster_cost_more_than_alone(netkv: Netkv) -> None:
    result = netkv("bench", "units", "--units", "12", "--length", "0.01", "--json")
    assert result.status == 0, result.err
    (row,) = result.document["rows"]
    assert row["units"] == 12
    assert row["alone_ms"] > 0
    assert 0 < row["start_s"] < row["wall_s"] * 2
    assert row["share"] == row["alone_ms"] / row["cluster_ms"]
