"""What a multiget costs its client, measured live."""

from __future__ import annotations

import json

import pytest
from click import unstyle
from typer.testing import CliRunner

from netkv.cli.app import app


def test_rows_have_groups_and_client_time_of_each_scheme() -> None:
    said = CliRunner().invoke(
        app, ["bench", "multigets", "--servers", "16", "--seconds", "3", "--json"]
    )
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert document["keys"] == 16
    (row,) = document["rows"]
    # 16 keys over 16 servers: 16 * (1 - (15 / 16) ** 16) groups.
    assert row["groups"] == pytest.approx(10.3, abs=0.3)
    assert document["schemes"] == ["netmc", "climc"]
    assert row["client_us"]["netmc"] > 0
    assert row["client_us"]["climc"] > 0
    assert row["over_first"]["climc"] > 0


def test_too_many_servers_are_refused() -> None:
    said = CliRunner().invoke(app, ["bench", "multigets", "--servers", "33"])
    assert said.exit_code == 2
    assert "less than or equal to 32" in unstyle(said.output)
