"""Commands know the schemes of other packages and their options."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.cli.commands import Netkv
from tests.schemes import foreign


@pytest.fixture
def packages(tmp_path: Path) -> str:
    """A search path with a package that has the scheme `probing`, and a broken package."""
    foreign.install(tmp_path, "netkv_probing", foreign.source())
    foreign.install(tmp_path, "netkv_broken", "import not_there", scheme="broken")
    return str(tmp_path)


def test_foreign_scheme_is_listed_beside_a_broken_one(netkv: Netkv, packages: str) -> None:
    document = netkv("scheme", "list", "--json", PYTHONPATH=packages).document
    listed = {each["name"]: each["package"] for each in document["schemes"]}
    assert listed["probing"] == "netkv_probing"
    assert listed["netcache"] == "netkv"
    assert document["problems"] == [
        "The scheme 'broken' of the package 'netkv_broken' cannot be used: "
        "ModuleNotFoundError: No module named 'not_there'."
    ]


def test_option_of_a_foreign_scheme_is_a_lab_option(
    netkv: Netkv, packages: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nschemes: [probing]\nlab:\n  probe_period: 2\n")
    shown = netkv("scenario", "show", str(file), "--json", PYTHONPATH=packages).document
    assert shown["lab"]["probe_period"] == 2
    wrong = netkv("scenario", "show", str(file), "--set", "lab.probe_period=0", PYTHONPATH=packages)
    assert wrong.status == 2
    assert "--set lab.probe_period=0: 'lab.probe_period' is 0" in wrong.err


METRICS = """
from dataclasses import replace
from netkv.metrics.metric import Metric
from netkv.metrics.readings import rack, client
from netkv.metrics.sources import Sum

SCHEME = replace(SCHEME, metrics=(Metric("probes", "Probes", "Probes.", Sum({reading})),))
"""


def test_foreign_scheme_with_a_mistyped_figure_is_left_out(netkv: Netkv, tmp_path: Path) -> None:
    text = foreign.source() + textwrap.dedent(METRICS.format(reading='rack("cachd")'))
    foreign.install(tmp_path, "netkv_probing", text)
    (problem,) = netkv("scheme", "list", "--json", PYTHONPATH=str(tmp_path)).document["problems"]
    assert "The scheme 'probing' of the package 'netkv_probing' cannot be used" in problem
    assert "The metric 'probes' of the scheme 'probing' reads 'cachd'" in problem
    assert "Did you mean 'cached'?" in problem


def test_foreign_scheme_with_a_mistyped_counter_does_not_run(netkv: Netkv, tmp_path: Path) -> None:
    text = foreign.source() + textwrap.dedent(METRICS.format(reading='client("complete")'))
    foreign.install(tmp_path, "netkv_probing", text)
    run = ("scenario", "run", "quickstart", "--mode", "sim", "--scheme", "probing")
    for command in (run, ("scheme", "show", "probing")):
        refused = netkv(*command, PYTHONPATH=str(tmp_path))
        assert refused.status == 2
        assert "reads 'complete', which is not a counter of its clients" in refused.err
        assert "Did you mean 'completed'?" in refused.err
