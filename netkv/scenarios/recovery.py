"""What counts of a run's recoveries: the longest, and its phases by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from netkv.scenarios.results import Recovery

METRIC = "recovery_time"
"""Seconds of the longest recovery; of its phases: `recovery_time_` and the name of the phase."""


def longest(recoveries: Iterable[Recovery]) -> Recovery | None:
    """The one that took most time; None if there was none."""
    return max(recoveries, key=lambda each: each.seconds, default=None)


def seconds(recoveries: Iterable[Recovery], metric: str = METRIC) -> float | None:
    """A metric of recoveries; None if there were none, or none with this phase."""
    found = longest(recoveries)
    if found is None or metric == METRIC:
        return None if found is None else found.seconds
    spent = [each.seconds for each in found.phases if phase_metric(each.name) == metric]
    return sum(spent) if spent else None


def phase_metric(name: str) -> str:
    """What thresholds call the seconds of a phase: `recovery_time_update_servers`."""
    return f"{METRIC}_{re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_')}"
