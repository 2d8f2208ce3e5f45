"""Models of designs for FPGAs."""

from __future__ import annotations

from netkv.api.models.base import Model


class DesignSummary(Model):
    """A design for FPGAs that ships with netkv."""

    name: str
    title: str
    description: str
    clock_mhz: float
    parameters: dict[str, int | str]
    """All parameters of its top-level module."""
    ports: list[str]
    """Names of its ports, the host port last."""
    resources: dict[str, float]
    """Resources that synthesis should find: `lut`, `ff`, `bram`."""
    paper: dict[str, float]
    """Those that the paper reports for its board."""
    built: bool
    """Whether its library is in the cache."""


class Designs(Model):
    """All designs."""

    designs: list[DesignSummary]
    problem: str | None
    """What is missing to build designs, as a sentence; then none counts as built."""


class RunningDesign(Model):
    """A design that runs live."""

    name: str
    """Name of the running design, as in `netkv fpga registers --live --name`."""
    design: str
    clock_mhz: float
    parameters: dict[str, int | str]
    """Parameters of its top-level module."""


class DesignCounters(Model):
    """Counts of a design that runs live."""

    name: str
    counters: dict[str, int]
    """Its registers that are counters; they have 32 bits and wrap."""
    ports: dict[str, dict[str, int]]
    """Counts of its ports by name: `rx_frames`, `tx_frames`, `rx_drops`, ..."""
    node: dict[str, int]
    """Counts of the program that runs it: `received`, `sent`, `cycles`, ..."""
