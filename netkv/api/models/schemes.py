"""Models of schemes."""

from __future__ import annotations

from typing import Any, Literal

from netkv.api.models.base import Model
from netkv.model.hardware import TopologySpec


class SchemeProgram(Model):
    """A P4 program of a scheme."""

    tier: Literal["clients", "between", "servers"]
    """The switches that run it: `servers`: those with servers; `clients`: those with clients only;
    `between`: those without hosts."""
    name: str | None
    """Its name at `/programs/{name}`; null for a program of another package."""
    file: str
    """Its path below the folder of programs, or its whole path."""


class SchemeSummary(Model):
    """A scheme."""

    name: str
    title: str
    description: str
    paper: str
    """The paper that describes it."""
    kind: Literal[
        "forwarding", "switch-cache", "multigets", "coordinator", "server-cards", "client-cards"
    ]
    """What it adds to a rack whose switches only forward: `forwarding`: nothing in the switch;
    `switch-cache`: switches answer requests; `multigets`: requests with several keys;
    `coordinator`: the same, with a host that splits them; `server-cards` and `client-cards`: FPGA
    cards before servers, or in clients."""
    package: str | None
    """The package that provides it."""
    programs: list[SchemeProgram]


class SchemeMetric(Model):
    """A metric of the runs of a scheme."""

    name: str
    """As in documents, `expect` lines and plots."""
    label: str
    meaning: str
    unit: str
    """Empty for plain counts."""
    sense: Literal["higher", "lower", "zero"] | None
    """Which values are better; `zero`: every other value is an error of the system."""
    of_runs: bool
    """Whether whole runs have it."""
    over_time: bool
    """Whether each interval of a run has it."""
    own: bool
    """Whether only runs of this scheme, or of some schemes, have it."""


class SchemeLimits(Model):
    """What a scheme supports."""

    pipelines: int
    """Pipelines of a switch, at most."""
    clients: int
    """Clients that switch and servers can distinguish."""
    one_switch: bool
    """Whether it supports a single switch only."""
    multigets: bool
    conditional_writes: bool
    coordinator: bool
    """Whether its racks have a coordinator."""


class Schemes(Model):
    """All schemes."""

    schemes: list[SchemeSummary]
    """In the order of figures."""
    problems: list[str]
    """A sentence for each installed scheme that cannot be used."""


class SchemeDetails(SchemeSummary):
    """A scheme with its roles, limits, options and metrics."""

    server_role: str
    client_role: str
    recovery_phases: list[str]
    """Names of the phases of a recovery, in order."""
    limits: SchemeLimits
    topology: TopologySpec
    """The switches of a lab that does not say them."""
    options_schema: dict[str, Any]
    """Its options below `lab`, as a JSON schema: default, limits, `description`, and `unit` for
    numbers that have one. Options of every lab are in `/scenarios/schema`."""
    metrics: list[SchemeMetric]
