"""Models of scenarios."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from netkv.api.models.base import Model, RequestModel
from netkv.api.models.fields import Changes, PlainName
from netkv.api.models.jobs import PlannedCell
from netkv.model.hardware import TopologySpec


class ScenarioSummary(Model):
    """A scenario that ships with netkv."""

    name: str
    title: str
    description: str
    schemes: list[str]
    runs: int
    """Number of its runs."""
    wall_seconds: float
    """Estimated duration on this machine."""
    wall_seconds_source: Literal["measured", "estimated"]
    """`measured`: from stored runs of it on this machine; `estimated`: from its rack and load."""
    virtual_seconds: float | None
    """Virtual time of the warm-ups and measured parts of all runs; null for a live scenario."""
    build_seconds: float
    """The part of `wall_seconds` in which FPGA designs are built that were not built yet."""


class ExpectedRun(PlannedCell):
    """A planned run and its expected duration."""

    seconds: float
    """Estimated for this machine, or measured there; without builds of FPGA designs."""


class ScenarioCheck(ScenarioSummary):
    """A request to run a scenario, checked."""

    mode: Literal["live", "sim"]
    warnings: list[str]
    """Why its live load cannot be served, or measures this machine and not the schemes."""
    plan: list[ExpectedRun]
    """Its runs, in order."""
    options: dict[str, Any]
    """All its options, defaults included."""


class OptionChange(RequestModel):
    """A change of one option in the text of a scenario."""

    path: Annotated[
        list[Annotated[str, Field(max_length=200)] | Annotated[int, Field(ge=0, le=10_000)]],
        Field(min_length=1, max_length=12, examples=[["workload", "zipf"], ["events", 0, "at"]]),
    ]
    """Names and indices of lists. The index behind the last entry of a list appends to it."""
    value: Any = None
    remove: bool = False
    """Remove the option instead."""


class EditRequest(RequestModel):
    """Changes of a scenario's text."""

    scenario: Annotated[
        PlainName | None,
        Field(
            description="The scenario that ships with netkv from which the text began.",
            examples=["quickstart"],
        ),
    ] = None
    yaml: Annotated[
        str | None,
        Field(max_length=200_000, description="The text; null: `yaml` of `scenario`."),
    ] = None
    set: Annotated[
        Changes,
        Field(
            description="Values of options, each `path=value`, before other changes.",
            examples=[["duration=10"]],
        ),
    ] = Field(default_factory=list)
    changes: Annotated[list[OptionChange], Field(max_length=100)] = Field(default_factory=list)
    fit: bool = False
    """Then remove expectations, plots and options that only other schemes or sweeps have."""

    @model_validator(mode="after")
    def _one_source(self) -> EditRequest:
        if self.scenario is None and self.yaml is None:
            raise ValueError("give 'scenario', 'yaml', or both")
        return self


class EditedScenario(Model):
    """The text of a scenario after changes. It is not checked: see `/scenarios/check`."""

    yaml: str
    """The text. Comments and the form of unchanged options are kept. A change writes the options of
    the scenario that it extends into it."""
    document: dict[str, Any]
    """The text as data, with the options of the scenario that it extends and without defaults."""
    lines: dict[str, int]
    """Path of each option in the text → its line, from 1."""
    set: list[str] | None
    """The changes of the file of `scenario` as `path=value`; null if they have no such form."""
    exact: bool
    """Whether `set` applied to the file gives exactly this text."""


class ScenarioDetails(ScenarioSummary):
    """A scenario with all its options, defaults included."""

    warnings: list[str]
    """Why its live load cannot be served, or measures this machine and not the schemes."""
    yaml: str
    """The text of its file, with the options of the scenario that it extends."""
    options: dict[str, Any]
    """Without those of `lab.topology` in which its schemes differ."""
    topologies: dict[str, TopologySpec]
    """The switches of each scheme's racks."""
