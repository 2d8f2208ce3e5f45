"""Models of tools."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from netkv.api.models.base import Model, RequestModel


class Tool(Model):
    """A long command that searches for faults, or measures this machine."""

    id: str
    """Its name in paths: `p4-fuzz`."""
    name: str
    """Its command below `netkv`: `p4 fuzz`."""
    summary: str
    """What it does, in a sentence."""
    seconds: float | None
    """Estimated duration with its own defaults; null if it depends on the machine."""
    options_schema: dict[str, Any]
    """A JSON schema of its options: types, defaults, limits and meanings."""


class ToolRequest(RequestModel):
    """A tool to run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"options": {"seconds": 5}}, {"options": {}}]}
    )

    options: dict[str, Any] = Field(default_factory=dict)
    """As in `options_schema` of the tool; what is left out has its default."""
