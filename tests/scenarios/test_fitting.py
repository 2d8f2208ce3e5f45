"""What does not fit the chosen schemes and the sweep is removed from a scenario's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import resources
from netkv.scenarios import editing, fitting, loader, sources
from netkv.scenarios.editing import Change
from netkv.scenarios.flattening import flattened


def fitted(text: str, *changes: Change) -> str:
    text = editing.apply(text, changes, "x")
    return editing.apply(text, list(fitting.misfits(loader.parsed(text, "x"))), "x")


@pytest.mark.parametrize("file", resources.scenarios().values(), ids=lambda file: file.stem)
def test_single_scheme_of_a_shipped_scenario_is_possible(file: Path) -> None:
    text = flattened(sources.read(file))
    names = loader.parsed(text, "x")["schemes"]
    assert fitted(text) == text, "everything fits"
    for name in names[:2]:
        only = fitted(text, Change(("schemes",), [name]))
        assert loader.loads(only, "x").schemes == [name]


def test_plots_over_an_option_that_is_not_swept_are_removed() -> None:
    text = loader.find("netcache-skew").read_text(encoding="utf-8")
    after = loader.parsed(fitted(text, Change(("sweep",), remove=True)), "x")
    assert "plots" not in after
    assert "expect" in after


def test_expectations_about_a_scheme_with_a_dash_stay_with_it() -> None:
    text = "schemes: [client-nic]\nexpect: [client_nic.lost_ops == 0, netcache.lost_ops == 0]\n"
    assert loader.parsed(fitted(text), "x")["expect"] == ["client_nic.lost_ops == 0"]


def test_wrong_parts_are_left_alone() -> None:
    text = "schemes: [nocache, 5]\nexpect: [1, x >]\nplots: [{a: 1}]\nlab: 7\nsweep: [1]\n"
    assert fitted(text) == text
    assert fitted("schemes: 7\n") == "schemes: 7\n"
