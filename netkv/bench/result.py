"""The document of benchmarks: `netkv bench` and `netkv p4 bench` print it.

Machines and their load differ: compare figures of one document with each other, never with those of
another machine or day.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Executor = Literal[
    "interpreter",
    "compiled",
    "handwritten",
    "udp-echo",
    "veth-echo",
    "redis",
    "memcached",
    "gateway",
]
"""The software that processed the packets or requests."""


class BenchResult(BaseModel):
    """One measured case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: str
    """Name of the P4 program, or of the software measured in its place ("redis")."""
    path: str
    """Path of the packets through it, e.g. "read-hit"."""
    executor: Executor
    entries: int | None = None
    """Keys that are stored or cached; None if not applicable."""
    value_size: int | None = None
    """Bytes of each value; None if not applicable."""
    pps: float
    """Packets (or requests) per second."""
    ns_p50: float | None = None
    """Time of one packet (in memory) or of the only outstanding request (end to end), median; for a
    `gateway` and the `redis` beside it, with all their connections."""
    ns_p99: float | None = None
    """The same, 99th percentile."""


class Machine(BaseModel):
    """The machine of the measurement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    processor: str
    cores: int
    """Cores that this process may use."""
    kernel: str
    memory_bytes: int

    def __str__(self) -> str:
        """`PROCESSOR, 8 cores, KERNEL`."""
        return f"{self.processor}, {self.cores} cores, {self.kernel}"


class Document(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    results: list[BenchResult]
    ratios: dict[str, float] = Field(default_factory=dict)
    """The main results, by name: as independent of the machine's speed as possible."""

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        document = self.model_dump(mode="json")
        if not self.ratios:
            del document["ratios"]
        return document


def this_machine() -> Machine:
    """The machine that this runs on."""
    from netkv.machine import host

    found = host()
    return Machine(
        processor=found["processor"],
        cores=found["processors"],
        kernel=found["system"],
        memory_bytes=found["memory_bytes"],
    )
