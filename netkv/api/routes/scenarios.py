"""The scenarios that ship with netkv."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from netkv import resources
from netkv.api.context import Context
from netkv.api.models.scenarios import ScenarioDetails, ScenarioSummary
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.runs import overview, walltime
from netkv.scenarios import loader, scheme_options
from netkv.scenarios.model import Scenario


def router(context: Context) -> APIRouter:
    """The routes of scenarios."""
    routes = APIRouter(tags=["scenarios"])
    store = context.store

    @routes.get("/scenarios")
    def list_scenarios() -> list[ScenarioSummary]:
        """The scenarios that ship with netkv."""
        history = walltime.History(store.timings())
        return [_summary(loader.load(file), history) for file in resources.scenarios()]

    @routes.get("/scenarios/{name}", responses=responses(404))
    def show_scenario(name: Name) -> ScenarioDetails:
        """A scenario with all its options, defaults included."""
        scenario = loader.load(found(loader.find, name))
        history = walltime.History(store.timings(scenario.name))
        return ScenarioDetails(
            **_summary(scenario, history).model_dump(),
            options=scheme_options.document(scenario),
            topologies=scheme_options.topologies(scenario),
        )

    return routes


def _summary(scenario: Scenario, history: walltime.History) -> ScenarioSummary:
    of_scenario = overview.of_scenario(scenario, walltime.of_scenario(scenario, history))
    return ScenarioSummary.model_validate(asdict(of_scenario))
