"""Models of benchmarks."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from netkv.api.models.base import Model, RequestModel


class Benchmark(Model):
    """A benchmark of netkv itself."""

    id: str
    """Its name in paths: `e2e`."""
    name: str
    """Its command below `netkv`: `bench e2e`."""
    title: str
    measures: str
    """What it measures."""
    against: str
    """What the figures are compared with, in the same minute."""
    seconds: float
    """Estimated duration with its own defaults, on a machine with two cores."""
    in_suite: bool
    """Whether `netkv bench` without a name runs it."""
    needs: list[str]
    """Programs or rights that it needs beside netkv."""
    options_schema: dict[str, Any]
    """A JSON schema of its options: types, defaults, limits and meanings."""


class BenchmarkRequest(RequestModel):
    """A benchmark to run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"options": {"seconds": 0.5}}, {"options": {}}]}
    )

    options: dict[str, Any] = Field(default_factory=dict)
    """As in `options_schema` of the benchmark; what is left out has its default."""
