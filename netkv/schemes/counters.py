"""Checks that what a scheme's metrics read exists: a name that nothing counts would always be 0."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from netkv.errors import UsageError, suggest
from netkv.metrics.readings import FIGURES, Place, Reading

if TYPE_CHECKING:
    from netkv.schemes.scheme import Scheme

_WHAT: dict[Place, str] = {
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
        if reading.place in FIGURES:
            _check(scheme, name, reading, FIGURES[reading.place])
        if reading.place == "cards" and scheme.card is None:
            raise UsageError(
                f"The metric '{name}' of the scheme '{scheme.name}' reads "
                f"{', '.join(reading.names)} of cards, but its racks have none."
            )


def _readings(scheme: Scheme) -> list[tuple[str, Reading]]:
    return [(each.name, reading) for each in scheme.metrics for reading in each.source.readings]


def _check(scheme: Scheme, metric: str, reading: Reading, names: Collection[str]) -> None:
    for name in reading.names:
        if name not in names:
            raise UsageError(
                f"The metric '{metric}' of the scheme '{scheme.name}' reads '{name}', which is not "
                f"{_WHAT[reading.place]}.\n  {suggest(name, names, label='Names')}"
            )
