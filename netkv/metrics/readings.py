"""Readings: the numbers of a sample of a rack that the source of a metric computes with.

A reading says what it reads. A metric that reads what does not exist is therefore refused
(`netkv.schemes.counters`); a function that looks up a mistyped name would give 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from netkv.metrics.rises import of_name
from netkv.model.report import LINK_KINDS, ClientSample, CoordinatorSample, RackSample

Origin: TypeAlias = Literal[
    "client", "servers", "cards", "load", "findings", "coordinator", "links", "rack"
]
"""What the names are: counters of the load generator, of the servers, of the FPGA cards; or figures
that all samples have: fields of `RackSample.client`, keys of `RackSample.client_statistics` (what
the history checker has found), fields of `RackSample.coordinator`, keys of `RackSample.links`,
fields of `RackSample` itself."""


@dataclass(frozen=True)
class Reading:
    """Reads numbers from a sample and adds them up."""

    origin: Origin
    names: tuple[str, ...]
    divisor: float = 1

    def __call__(self, sample: RackSample) -> Any:
        """The sum; None if one of the numbers is unknown. Counters of a node that is down are 0."""
        total: Any = 0
        for name in self.names:
            number = self._read(sample, name)
            if number is None:
                return None
            total += number
        return total if self.divisor == 1 else total / self.divisor

    def _read(self, sample: RackSample, name: str) -> Any:
        match self.origin:
            case "client":
                return sample.client.counts.get(name, 0)
            case "servers":
                return sum(server.get(name, 0) for server in sample.server_statistics)
            case "cards":
                return of_name(sample.cards, name)
            case "load":
                return getattr(sample.client, name)
            case "findings":
                return sample.client_statistics.get(name)
            case "coordinator":
                return None if sample.coordinator is None else getattr(sample.coordinator, name)
            case "links":
                return sample.links.get(name, 0) if sample.links else None
            case "rack":
                return getattr(sample, name)


def client(*names: str, divisor: float = 1) -> Reading:
    """Counts of the load generator in the interval, or gauges: those that all have
    (`ClientCounts` in engine/roles), and those of its role."""
    return Reading("client", names, divisor)


def servers(*names: str) -> Reading:
    """Counts of all servers, each since its start, or gauges: those of their role."""
    return Reading("servers", names)


def cards(*names: str) -> Reading:
    """What registers of the FPGA cards have counted in the interval, added up over the cards.
    Registers with a number for each function, `hits.0`, …, have the name `hits`."""
    return Reading("cards", names)


def coordinator(name: str) -> Reading:
    """A figure of the coordinator (`CoordinatorSample`); None while it is down."""
    return Reading("coordinator", (name,))


def links(kind: str) -> Reading:
    """Bytes on the links of a kind in the interval; None live, where nothing counts them."""
    return Reading("links", (kind,))


def rack(name: str, divisor: float = 1) -> Reading:
    """A figure of a sample (`RackSample`)."""
    return Reading("rack", (name,), divisor)


seconds = Reading("load", ("interval",))
"""Length of the interval."""
rack_seconds = rack("interval")
"""Length of the interval of everything that the load generator does not count, in seconds."""


def _figures(kind: type) -> tuple[str, ...]:
    computed = (name for name, value in vars(kind).items() if isinstance(value, property))
    return (*(each.name for each in fields(kind)), *computed)


FIGURES: Mapping[Origin, tuple[str, ...]] = {
    "load": _figures(ClientSample),
    "findings": ("linearizable", "checked_ops", "unchecked_keys", "violation_count"),
    "coordinator": _figures(CoordinatorSample),
    "links": LINK_KINDS,
    "rack": _figures(RackSample),
}
"""The names of origins that have the same ones for every scheme."""
