"""Models of tools."""

from __future__ import annotations

from typing import Any

from netkv.api.models.base import Model


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
