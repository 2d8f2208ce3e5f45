"""Models of benchmarks."""

from __future__ import annotations

from typing import Any

from netkv.api.models.base import Model


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
