"""`netkv p4 fuzz --bmv2` with stand-ins for p4c and bmv2, and with the real ones if installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, Netkv
from tests.lab import bmv2_standin
from tests.programs import needs_bmv2

GOLDEN = ROOT / "tests" / "golden"
TABLES, ARITHMETIC = str(GOLDEN / "tables.p4"), str(GOLDEN / "arith.p4")
BMV2 = ("--bmv2", "simple_switch_grpc")


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bmv2_standin.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("standin")
def test_equal_switches_have_no_difference(netkv: Netkv) -> None:
    result = netkv("p4", "fuzz", TABLES, *BMV2, "--seeds", "2", "--packets", "60", "--json")
    assert result.status == 0, result.err
    document = result.document
    assert document["ok"]
    assert (document["cases"], document["packets"]) == (2, 120)
    assert document["findings"] == []


@pytest.mark.usefixtures("standin")
def test_a_difference_is_reported_with_its_packet(
    netkv: Netkv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_FAULT", "h.i.a8 + h.i.b8=>h.i.a8 - h.i.b8")
    result = netkv("p4", "fuzz", ARITHMETIC, *BMV2, "--seed", "4", "--packets", "60")
    assert result.status == 1, result.err
    assert "is answered differently, also as the first packet." in result.err
    for line in ("interpreter port", "compiled    port", "bmv2        port"):
        assert line in result.err
    assert f"Again: netkv p4 fuzz {ARITHMETIC} --seed 4 --packets 60 --bmv2 PATH" in result.err


@pytest.mark.usefixtures("standin")
def test_generated_programs_are_compared_too(netkv: Netkv) -> None:
    result = netkv(
        *("p4", "fuzz", TABLES, "--generated", *BMV2),
        *("--seed", "1008", "--packets", "20", "--json"),
    )
    assert result.status == 0, result.err
    assert result.document["cases"] == 2


def test_missing_programs_are_named(netkv: Netkv) -> None:
    result = netkv("p4", "fuzz", TABLES, "--bmv2", "/nowhere/simple_switch_grpc", "--seed", "1")
    assert result.status == 1
    assert "'/nowhere/simple_switch_grpc' cannot be executed" in result.err
    result = netkv("p4", "fuzz", TABLES, "--p4c", "p4c", "--seed", "1")
    assert result.status == 2
    assert "--p4c requires --bmv2." in result.err


@pytest.mark.slow
@needs_bmv2
def test_netkvs_programs_give_the_same_frames_on_real_bmv2(netkv: Netkv) -> None:
    result = netkv("p4", "fuzz", *BMV2, "--seeds", "1", "--packets", "1000", "--json")
    assert result.status == 0, result.out
    assert result.document["packets"] >= 4000
