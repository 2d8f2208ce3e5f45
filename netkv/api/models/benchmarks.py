"""Models of benchmarks."""

from __future__ import annotations

from netkv.api.models.base import Model


class Benchmark(Model):
    """A benchmark of netkv itself."""

    name: str
    """Its command below `netkv`, as `bench e2e`."""
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
