"""Random cases of `netkv soak` for LaKe.

Rules
-----
1. LaKe's guarantees hold in every case: `packet_lifetime` is longer than any packet needs, writes
   are visible once they are acknowledged, and `replies_copied` is set if a fault copies replies.
2. A share of the cases are races: one card, few keys, bad links on both sides of the card from the
   beginning to the end, short restarts. In the other cases, requests of one key seldom overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netkv.lab.hardware import TopologySpec
from netkv.lab.spec import Poisson
from netkv.rack.nodes import Card, Client, Servers
from netkv.scenarios import faults
from netkv.scenarios.events import FaultKind, LinkFault, TimelineEvent
from netkv.schemes.lake.options import BUILT_ELEMENTS
from netkv.sim.models import LinkModel, Profile, ServerModel, Time
from netkv.soak.case import Case, Fault
from netkv.soak.random_draw import RandomDraw

RACES = 0.5
"""Share of the cases that are races."""
QUIET = 0.05
"""Share of the duration of races, at its end, without faults of links."""
SLOWED = 20.0
"""Factor by which a fault slows a server at most."""
SLOW = 20.0
"""Factor by which a random processor time exceeds its mean at most, in practice."""


def adapt(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    """A race, or the case with options of LaKe; its faults are of these kinds."""
    if draw.chance(RACES):
        case = _race(draw, case, kinds)
    shortest = packet_lifetime(case)
    options: dict[str, Any] = {
        "card_clock": draw.scale(10, 200) if draw.chance(0.5) else 200.0,
        "elements": draw.count(1, BUILT_ELEMENTS),
        "shared_caches": draw.chance(0.8),
        "fill": draw.chance(0.9),
        "packet_lifetime": round(min(shortest * draw.scale(1, 4), 60), 4),
        "replies_copied": any(fault.duplicate for fault in _of_servers(case)),
        "max_age": draw.scale(0.01, 1.0) if draw.chance(0.2) else 0.0,
    }
    return _with_lab(case, options)


def packet_lifetime(case: Case) -> float:
    """Seconds within which a packet of a case reaches the server and its reply comes back to the
    card."""
    profile, lab = case.profile, case.rack.lab
    server = profile.server
    times = (server.receive, server.send, server.get, server.put, server.delete)
    work = sum(time.mean + time.spread for time in times) * 1e-6
    at_server = SLOW * work + server.queue * work / server.cores
    if lab.service_rate is not None:
        # Faults make servers slower.
        at_server += SLOWED * lab.queue_limit / lab.service_rate
    late = max((_lateness(fault) for fault in _of_servers(case)), default=0.0)
    on_link = 2 * (late + _longest(profile.card_link)) + 2e-6 * profile.host_delay
    return round(at_server + on_link + 0.0001, 4)


def _of_servers(case: Case) -> Iterator[LinkFault]:
    """The faults of links between cards and servers."""
    for fault in case.faults:
        link = fault.begin.link
        if link is not None and link.node.startswith(Servers.NAME):
            yield link


def _lateness(fault: LinkFault) -> float:
    """Seconds by which the fault delays a packet at most, in one direction."""
    return fault.delay + fault.jitter + (fault.reorder_span if fault.reorder else 0.0)


def _longest(link: LinkModel) -> float:
    """Seconds on a link with a full queue."""
    return link.delay * 1e-6 + link.queue_kib * 8192 / (link.bandwidth_gbps * 1e9)


def _race(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    duration = draw.between(0.1, 0.4)
    rate = draw.scale(1_000, 4_000) / duration
    writes = draw.scale(0.05, 0.7)
    workload = {
        "keys": draw.scale_count(1, 12),
        "writes": writes,
        "deletes": round(min(draw.between(0, 0.2), 0.95 - writes), 3) if draw.chance(0.5) else 0.0,
        "arrivals": Poisson(rate=round(rate, 1)),
        "shift": None,
    }
    refuses = draw.chance(0.3) and "slow" in kinds
    service_rate = round(rate * draw.scale(0.7, 4), 1)
    lab = {
        "topology": TopologySpec(),
        "servers": 1,
        "server_processes": 1,
        "clients": draw.count(2, 8),
        "service_rate": service_rate if refuses else None,
        "queue_limit": draw.scale_count(1, 16),
    }
    rack = case.rack.model_copy(
        update={
            "workload": case.rack.workload.model_copy(update=workload),
            # Requests are sent once; writes without an answer make the history vague.
            "deadline": draw.scale(0.01, 0.1),
        }
    )
    case = case.model_copy(
        update={
            "rack": rack,
            "profile": _fast(draw, case.profile, rate),
            "duration": duration,
            "faults": (),
        }
    )
    case = _with_lab(case, lab)
    return case.model_copy(update={"faults": _faults(draw, case, kinds)})


def _fast(draw: RandomDraw, profile: Profile, rate: float) -> Profile:
    """Links and a server that need little time for `rate` operations a second."""
    time = Time(kind="exponential", mean=float(f"{0.1 * 1e6 / rate:.3g}"))
    link = LinkModel(bandwidth_gbps=draw.scale(1, 100), delay=draw.scale(0.5, 50), queue_kib=256)
    server = ServerModel(
        receive=time, send=time, get=time, put=time, delete=time, cores=draw.count(1, 4), queue=64
    )
    return profile.model_copy(update={"client_link": link, "server_link": link, "server": server})


def _faults(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> tuple[Fault, ...]:
    """Bad links, and restarts of card and server."""
    nodes = (f"{Card.NAME}0", f"{Servers.NAME}0", Client.NAME)
    found = [_bad_link(draw, node, case.duration, kinds) for node in nodes]
    # Drawn in every case, so that `kinds` changes no other draw.
    seed, every, last = draw.seed(), draw.scale(0.01, 0.3), draw.scale(0.001, 0.03)
    restarts: dict[str, TimelineEvent] = {}
    if ends := [kind for kind in kinds if kind in ("stop", "kill")]:
        for event in faults.random_schedule(
            seed, case.duration, case.rack.lab, ends,
            nodes=nodes[:2], every=every, last=last, storage="kept",
        ):  # fmt: skip
            name = str(event.node)
            if (begin := restarts.pop(name, None)) is None:
                restarts[name] = event
            else:
                found.append(Fault(begin=begin, end=event))
    present = (fault for fault in found if fault is not None)
    return tuple(sorted(present, key=lambda fault: fault.begin.at))


def _bad_link(
    draw: RandomDraw, node: str, duration: float, kinds: Sequence[FaultKind]
) -> Fault | None:
    """A link that loses, copies and reorders packets; None for a good one."""
    drawn = {
        "loss": ("loss", {"loss": draw.scale(0.002, 0.05)}, draw.chance(0.4)),
        "duplicate": ("duplicate", {"duplicate": draw.scale(0.02, 0.4)}, draw.chance(0.5)),
        "reorder": (
            "reorder",
            {"reorder": draw.scale(0.05, 0.5), "reorder_span": draw.scale(0.0002, 0.01)},
            draw.chance(0.5),
        ),
        "delay": (
            "delay",
            {"delay": draw.scale(0.0001, 0.003), "jitter": draw.scale(0.0001, 0.005)},
            draw.chance(0.3),
        ),
    }
    values: dict[str, Any] = {}
    for kind, settings, chosen in drawn.values():
        if chosen and kind in kinds:
            values |= settings
    direction = draw.one(("both", "both", "to", "from"))
    if not values:
        return None
    at = round(duration * (1 - QUIET), 6)
    link = LinkFault.model_validate({"node": node, "direction": direction, **values})
    return Fault(
        begin=TimelineEvent(at=0.0, link=link),
        end=TimelineEvent(at=at, link=LinkFault(node=node, direction=direction)),
    )


def _with_lab(case: Case, update: dict[str, Any]) -> Case:
    lab = case.rack.lab.model_copy(update=update)
    return case.model_copy(update={"rack": case.rack.model_copy(update={"lab": lab})})
