"""Options of LaKe in the random cases of `netkv soak`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netkv.schemes.lake.options import BUILT_ELEMENTS
from netkv.sim.models import LinkModel
from netkv.soak.case import Case
from netkv.soak.random_draw import RandomDraw

FAULT_DELAY = 0.06
"""Seconds by which faults of links delay a packet at most, to the server and back
(`netkv.scenarios.faults`)."""
SLOWED = 20.0
"""Factor by which a fault slows a server at most."""
SLOW = 20.0
"""Factor by which a random processor time exceeds its mean at most, in practice."""


def options(draw: RandomDraw, case: Case) -> Mapping[str, Any]:
    """Options that keep LaKe's guarantees: writes are visible once they are acknowledged, and no
    packet is on its way for longer than `packet_lifetime`."""
    shortest = packet_lifetime(case)
    return {
        "elements": draw.count(1, BUILT_ELEMENTS),
        "shared_caches": draw.chance(0.8),
        "fill": draw.chance(0.9),
        "packet_lifetime": round(min(shortest * draw.scale(1, 4), 60), 3),
        "max_age": draw.scale(0.01, 1.0) if draw.chance(0.2) else 0.0,
    }


def packet_lifetime(case: Case) -> float:
    """Seconds within which a packet of a case reaches the server and its reply comes back."""
    profile, lab = case.profile, case.rack.lab
    links = [profile.client_link, profile.server_link, profile.card_link]
    switches = 3 * [profile.switch_link]
    on_links = 2 * sum(_longest(link) for link in (*links, *switches))
    server = profile.server
    times = (server.receive, server.send, server.get, server.put, server.delete)
    work = sum(time.mean + time.spread for time in times) * 1e-6
    at_server = SLOW * work + server.queue * work / server.cores
    if lab.service_rate is not None:
        # Faults make servers slower.
        at_server += SLOWED * lab.queue_limit / lab.service_rate
    return FAULT_DELAY + on_links + at_server + 2e-6 * profile.host_delay


def _longest(link: LinkModel) -> float:
    """Seconds on a link with a full queue."""
    return link.delay * 1e-6 + link.queue_kib * 8192 / (link.bandwidth_gbps * 1e9)
