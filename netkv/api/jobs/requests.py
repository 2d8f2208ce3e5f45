"""From a request to a checked scenario, and to the command line of its process."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from netkv.api import files
from netkv.api.errors import RequestFieldError
from netkv.api.models.jobs import ScenarioRequest
from netkv.errors import UsageError
from netkv.scenarios import loader, sources
from netkv.scenarios.model import Scenario
from netkv.scenarios.run_plan import only_schemes

OWN_FILE = "scenario.yaml"
"""Name of an own scenario, in error messages and in the directory of its job."""
MAX_RUNS = 2000
"""Limit of the runs of a job."""


def scenario(request: ScenarioRequest) -> Scenario:
    """The scenario as it would run, with all changes; raises `UsageError` if it cannot."""
    changes, also = _changes(request), request.schemes
    text = own_text(request)
    if text is None:
        source = sources.read(loader.find(request.scenario or ""))
    else:
        source = sources.reads(text, OWN_FILE)
    # Whether it can run is checked at each point of the sweep, so their number is checked before.
    _few_runs(loader.of_source(source, changes, also=also), len(also))
    found = loader.of_source(source, changes, to_run=True, also=also)
    # The sweep may set any option.
    for params in loader.sweep_points(found):
        files.refuse(loader.apply(found, params).lab)
    return only_schemes(found, request.schemes) if request.schemes else found


def _few_runs(scenario: Scenario, schemes: int) -> None:
    points = math.prod(map(len, scenario.sweep.values()))
    runs = points * scenario.repeat * (schemes or len(scenario.schemes))
    if runs > MAX_RUNS:
        raise RequestFieldError(
            f"The scenario has {runs:,} runs; at most {MAX_RUNS:,} are possible. Choose fewer "
            f"values in 'sweep', fewer schemes, or a lower 'repeat'.",
            "sweep" if points > 1 else "repeat",
        )


def own_text(request: ScenarioRequest) -> str | None:
    """The text of an own scenario; None for one that ships with netkv. JSON is YAML, too."""
    if request.document is not None:
        return json.dumps(request.document, indent=2)
    return request.yaml


def scenario_command(request: ScenarioRequest, group: str, directory: Path) -> list[str]:
    """The command line of a job with this scenario; its own file is in `directory`."""
    name = request.scenario or str(directory / OWN_FILE)
    command = [sys.executable, "-m", "netkv", "scenario", "run", name, "--json", f"--group={group}"]
    command.append("--again")  # who asks for a job wants to see it run
    command += [f"--scheme={each}" for each in request.schemes]
    return command + [f"--set={item}" for item in _changes(request)]


def _changes(request: ScenarioRequest) -> list[str]:
    """All changes as `path=value`. Options of the command line with the same effect are these."""
    given = {"mode": request.mode, "seed": request.seed, "repeat": request.repeat}
    for item in request.set:
        if "\n" in item or not item.strip():
            raise UsageError(f"--set {item!r}: should look like workload.zipf=0.9, in one line.")
    more = [f"{path}={value}" for path, value in given.items() if value is not None]
    return [*request.set, *more]
