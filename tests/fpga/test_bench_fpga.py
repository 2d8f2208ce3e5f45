"""`netkv bench fpga`: a design with fast ports is measured with the defaults, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netkv.bench.benchmarks.fpga import measure
from netkv.cli import main
from netkv.fpga import tester
from netkv.model import manifest

pytestmark = pytest.mark.slow


def test_design_is_measured_with_the_default_cycles(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert home.is_dir()
    assert main(["bench", "fpga", "client-cache", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["design"] == "client-cache"
    # Most cycles without frames are skipped.
    assert 0 < found["loaded"] < found["idle"]
    assert found["sparse"] > 0


def test_load_of_the_most_cycles_is_possible() -> None:
    """The queries of a port are limited; a fast port has them in fewer cycles."""
    for name in ("lake", "client-cache"):
        design = manifest.find(name)
        load = tester.Load(ports=range(len(design.client_ports)), warmup_cycles=0)
        most = tester.most_cycles(design, load)
        assert most > 10_000
    assert tester.most_cycles(design, load) < measure.LOADED_CYCLES


def test_more_cycles_than_possible_are_refused(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert home.is_dir()
    assert main(["bench", "fpga", "client-cache", "--cycles", "200000"]) == 2
    assert "at most 60,000 queries a port" in capfd.readouterr().err
