"""What a multiget costs its client, measured live."""

from __future__ import annotations

import json

import pytest
from click import unstyle
from typer.testing import CliRunner

from netkv.cli.app import app

pytestmark = pytest.mark.timeout(120)


def test_one_frame_for_a_request_takes_less_of_the_client_than_one_for_each_group() -> None:
    said = CliRunner().invoke(
        app, ["bench", "multigets", "--servers", "16", "--seconds", "3", "--json"]
    )
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert document["keys"] == 16
    (row,) = document["rows"]
    # 16 keys over 16 servers: 16 * (1 - (15 / 16) ** 16) groups.
    assert row["groups"] == pytest.approx(10.3, abs=0.3)
    assert row["climc_over_netmc"] > 1


def test_rows_are_for_racks_that_can_be() -> None:
    said = CliRunner().invoke(app, ["bench", "multigets", "--servers", "33"])
    assert said.exit_code == 2
    assert "less than or equal to 32" in unstyle(said.output)
