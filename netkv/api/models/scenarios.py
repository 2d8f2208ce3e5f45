"""Models of scenarios."""

from __future__ import annotations

from typing import Any, Literal

from netkv.api.models.base import Model
from netkv.api.models.jobs import PlannedCell
from netkv.lab.hardware import TopologySpec


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


class ScenarioCheck(ScenarioSummary):
    """A request to run a scenario, checked."""

    mode: Literal["live", "sim"]
    warnings: list[str]
    """Why its live load cannot be served, or measures this machine and not the schemes."""
    plan: list[PlannedCell]
    """Its runs, in order."""
    options: dict[str, Any]
    """All its options, defaults included."""


class ScenarioDetails(ScenarioSummary):
    """A scenario with all its options, defaults included."""

    warnings: list[str]
    """Why its live load cannot be served, or measures this machine and not the schemes."""
    yaml: str
    """The text of its file."""
    options: dict[str, Any]
    """Without those of `lab.topology` in which its schemes differ."""
    topologies: dict[str, TopologySpec]
    """The switches of each scheme's racks."""
