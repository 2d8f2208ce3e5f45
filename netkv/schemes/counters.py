"""Checks that what a scheme's metrics read exists: a name that nothing counts would always be 0."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from netkv.errors import UsageError, suggest
from netkv.metrics.readings import FIGURES, Origin, Reading
from netkv.model.nodes import Client, Servers

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab
    from netkv.schemes.scheme import Scheme

_WHAT: dict[Origin, str] = {
    "client": "a counter of its clients",
    "servers": "a counter of its servers",
    "cards": "a register of its cards",
    "load": "a figure of the load generator",
    "findings": "a finding of the load generator",
    "coordinator": "a figure of the coordinator",
    "links": "a kind of links",
    "rack": "a figure of samples",
}


def check_figures(scheme: Scheme) -> None:
    """Raises `UsageError` if a metric reads a figure that samples do not have, or a register of
    cards although there are none. The counters of a role are not known here."""
    for name, reading in _readings(scheme):
        if reading.origin in FIGURES:
            _check(scheme, name, reading, FIGURES[reading.origin])
        if reading.origin == "cards" and scheme.card is None:
            raise UsageError(
                f"The metric '{name}' of the scheme '{scheme.name}' reads "
                f"{', '.join(reading.names)} of cards, but its racks have none."
            )


def check_counters(scheme: Scheme, lab: GenericLab) -> None:
    """Raises `UsageError` if a metric reads a counter that the roles of the scheme, or its cards in
    this lab, do not have."""
    known: dict[Origin, Collection[str]] = {}
    for name, reading in _readings(scheme):
        if reading.origin not in FIGURES:
            names = known.get(reading.origin) or _counters(scheme, lab, reading.origin)
            known[reading.origin] = names
            _check(scheme, name, reading, names)


def _readings(scheme: Scheme) -> list[tuple[str, Reading]]:
    return [(each.name, reading) for each in scheme.metrics for reading in each.source.readings]


def _counters(scheme: Scheme, lab: GenericLab, origin: Origin) -> Collection[str]:
    # The engine takes time to load, and so do manifests.
    from netkv import _engine
    from netkv.model import manifest

    if origin == "client":
        return _engine.client_counters(scheme.role(Client))
    if origin == "servers":
        return _engine.server_counters(scheme.role(Servers))
    assert scheme.card is not None, "`check_figures` has seen that it has cards"
    design = scheme.card(lab)
    return (design.manifest or manifest.find(design.design)).counters


def _check(scheme: Scheme, metric: str, reading: Reading, names: Collection[str]) -> None:
    for name in reading.names:
        if name not in names:
            raise UsageError(
                f"The metric '{metric}' of the scheme '{scheme.name}' reads '{name}', which is not "
                f"{_WHAT[reading.origin]}.\n  {suggest(name, names, label='Names')}"
            )
