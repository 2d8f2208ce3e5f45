"""Models of designs for FPGAs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netkv.api.models.base import Model, RequestModel


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


class DesignPort(Model):
    """A port of a design."""

    name: str
    kind: Literal["network", "host", "virtio"]
    """What is at its other end: the network, the host of the board, or a driver."""
    rate_gbps: float | None
    """Line rate; null: frames take no time on the line."""


class DesignMemory(Model):
    """A memory outside of the FPGA."""

    name: str
    description: str


class DesignRegister(Model):
    """A register of a design, or several of the same kind."""

    name: str
    address: int
    """Of the first one, in bytes."""
    count: int
    """If there are several, they have an index, as in `frames.2`."""
    access: Literal["ro", "rw", "wo"]
    """Read, read and written, or written only."""
    kind: Literal["counter", "setting", "status", "command"]
    """A counter counts up and wraps; a setting keeps what was written; a status may change at any
    time; a command acts when it is written."""
    values: dict[str, int]
    """Names of values."""
    description: str


class DesignResource(Model):
    """A resource of the FPGA: what synthesis has found, beside what is expected and the paper."""

    found: float | None
    """By yosys, for the 7 series of Xilinx; null: not synthesised yet (`netkv fpga synth`)."""
    expected: float | None
    tolerance: float | None
    """Share of the expected number by which it may be off."""
    paper: float | None
    """The number that the paper reports for its board."""
    ok: bool | None
    """Whether what was found is within the tolerance."""


class DesignSynthesis(Model):
    """The latest synthesis of a design as it is now."""

    yosys: str
    """Version of the package."""
    seconds: float
    """Its duration."""
    latches: int
    cells: dict[str, int]
    """Number of cells of each type."""


class DesignDetails(DesignSummary):
    """A design with its interface and its resources."""

    top: str
    """Top-level module."""
    word_bytes: int
    """Bytes that cross a port in a cycle."""
    port_details: list[DesignPort]
    """The ports, in the same order."""
    memories: list[DesignMemory]
    registers: list[DesignRegister]
    counters: list[str]
    """Names of the registers that are counters."""
    resource_details: dict[str, DesignResource]
    """`lut`: look-up tables; `ff`: flip-flops; `bram`: block RAMs of 36 kbit."""
    synthesis: DesignSynthesis | None
    problem: str | None
    """Why there are no figures of a synthesis, as a sentence, if something is missing."""


class RegisterValue(Model):
    """The value of a register of a design that runs live."""

    name: str
    value: int
    meaning: str | None
    """Name of the value, if it has one."""


class DesignRegisters(Model):
    """The registers of a design that runs live, without those that are written only."""

    name: str
    design: str
    registers: list[RegisterValue]


class RegisterWrite(RequestModel):
    """A new value of a register."""

    value: Annotated[int, Field(ge=0, lt=1 << 32)] | Annotated[str, Field(max_length=100)]
    """A number of 32 bits, or the name of a value."""


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
