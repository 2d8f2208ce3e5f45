"""`netkv bench multigets`: the cost of a multiget for its client."""

from __future__ import annotations

import json

import pytest
from click import unstyle
from typer.testing import CliRunner

from netkv.cli.app import app


def test_rows_have_groups_and_client_time_of_each_scheme() -> None:
    result = CliRunner().invoke(
        app, ["bench", "multigets", "--servers", "16", "--seconds", "3", "--json"]
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["keys"] == 16
    (row,) = document["rows"]
    # 16 keys over 16 servers: 16 * (1 - (15 / 16) ** 16) groups.
    assert row["groups"] == pytest.approx(10.3, abs=0.3)
    assert document["schemes"] == ["netmc", "climc"]
    assert row["client_us"]["netmc"] > 0
    assert row["client_us"]["climc"] > 0
    assert row["over_first"]["climc"] > 0


def test_too_many_servers_are_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "multigets", "--servers", "33"])
    assert result.exit_code == 2
    assert "less than or equal to 32" in unstyle(result.output)
