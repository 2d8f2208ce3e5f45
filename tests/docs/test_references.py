"""The reference documents are those that the code generates, and they are complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.options import Spec, meaning
from netkv.scenarios import reference
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import check, models, parse
from netkv.scenarios.plot import drawable
from tests.docs.documents import ROOT
from tests.waiting import PATIENCE_S

SCENARIOS = (ROOT / "docs/use/scenario-reference.md").read_text()


def spec_models(annotation: object) -> Iterator[type[Spec]]:
    """The models below a type."""
    for model in [*models(annotation), *models(getattr(annotation, "__args__", [None])[0])]:
        yield model
        for field in model.model_fields.values():
            yield from spec_models(field.annotation)


MODELS = list(dict.fromkeys([Scenario, *spec_models(Scenario)]))


def test_reference_of_scenarios_follows_the_models() -> None:
    assert reference.markdown() == SCENARIOS, "run 'make docs'"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_option_of_a_scenario_has_a_meaning(model: type[Spec]) -> None:
    for name in model.model_fields:
        text = meaning(model, name)
        assert text, f"{model.__name__}.{name} has no docstring"
        assert text.rstrip().endswith("."), text
        assert re.search(rf"^\| `([\w.]+\.)?{name}` \|", SCENARIOS, re.MULTILINE), name


def test_options_of_the_reference_exist() -> None:
    named = re.findall(
        r"^\| `([\w.]+)` \| .* \| .* \| .* \|$", SCENARIOS.split("## Figures")[0], re.M
    )
    assert len(named) > 90
    for path in named:
        assert check(parse(path.replace(".N", ".0"))) is None, path


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("scenario reference", "use/scenario-reference.md"),
        ("runs tables", "use/run-store-tables.md"),
    ],
)
def test_command_prints_the_reference(command: str, file: str, tmp_path: Path) -> None:
    """The commands print Markdown or one JSON document, and create no run store."""
    printed = netkv(*command.split(), home=tmp_path)
    assert printed == (ROOT / "docs" / file).read_text()
    assert json.loads(netkv(*command.split(), "--json", home=tmp_path))
    assert not list(tmp_path.iterdir())


def netkv(*words: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "netkv", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={**os.environ, "NETKV_HOME": str(home)},
    )
    return done.stdout


@pytest.mark.parametrize("name", drawable())
def test_every_figure_has_a_meaning(name: str) -> None:
    assert drawable()[name].meaning.endswith(".")
    assert f"| `{name}` |" in SCENARIOS


def test_links_within_the_reference_lead_to_headings() -> None:
    headings = {
        re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^##+ (.*)$", SCENARIOS, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#([^)]*)\)", SCENARIOS))
    assert links
    assert links <= headings
