"""Scenarios: those that ship with netkv, and a check of those of users."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from netkv.api import scenario_edits
from netkv.api.context import Context, Current
from netkv.api.jobs import requests
from netkv.api.models.jobs import ScenarioRequest
from netkv.api.models.scenarios import (
    EditedScenario,
    EditRequest,
    ExpectedRun,
    ScenarioCheck,
    ScenarioDetails,
    ScenarioSummary,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.runs import overview, walltime
from netkv.scenarios import capacity, loader, reference, scheme_options, sources
from netkv.scenarios.flattening import flattened
from netkv.scenarios.model import Scenario
from netkv.scenarios.run_plan import plan

routes = APIRouter(tags=["scenarios"])


@routes.get("/scenarios")
def list_scenarios() -> list[ScenarioSummary]:
    """The scenarios that ship with netkv."""
    return [ScenarioSummary.model_validate(asdict(each)) for each in overview.shipped()]


@routes.post("/scenarios/check", responses=responses(422))
def check_scenario(context: Current, request: ScenarioRequest) -> ScenarioCheck:
    """Check a request of `POST /jobs` without running it: its plan and its duration here."""
    scenario = context.checks.run(requests.scenario, request, "The check")
    history = walltime.History(context.store.timings(scenario.name))
    planned = plan(scenario)
    return ScenarioCheck(
        **_summary(context, scenario).model_dump(),
        mode=scenario.mode,
        warnings=capacity.warnings(scenario),
        plan=[
            ExpectedRun(scheme=each.scheme, params=each.params, repeat=each.repeat, seconds=seconds)
            for each, seconds in zip(planned, walltime.of_runs(scenario, history), strict=True)
        ],
        options=scheme_options.document(scenario),
    )


@routes.post("/scenarios/edit", responses=responses(404, 422))
def edit_scenario(context: Current, request: EditRequest) -> EditedScenario:
    """Change options in the text of a scenario; comments and all other text stay."""
    original = None
    if request.scenario is not None:
        original = flattened(sources.read(found(loader.find, request.scenario)))
    return context.checks.run(scenario_edits.edited, (request, original), "The change")


@routes.get("/scenarios/schema")
def show_scenario_schema() -> dict[str, Any]:
    """The JSON schema of a scenario: defaults, limits, meanings and units of options."""
    return reference.schema()


@routes.get("/scenarios/{name}", responses=responses(404))
def show_scenario(context: Current, name: Name) -> ScenarioDetails:
    """A scenario with all its options, defaults included, and the text of its file."""
    source = sources.read(found(loader.find, name))
    scenario = loader.of_source(source)
    return ScenarioDetails(
        **_summary(context, scenario).model_dump(),
        warnings=capacity.warnings(scenario),
        yaml=flattened(source),
        options=scheme_options.document(scenario),
        topologies=scheme_options.topologies(scenario),
    )


def _summary(context: Context, scenario: Scenario) -> ScenarioSummary:
    history = walltime.History(context.store.timings(scenario.name))
    of_scenario = overview.of_scenario(scenario, walltime.of_scenario(scenario, history))
    return ScenarioSummary.model_validate(asdict(of_scenario))
