"""Random cases of `netkv soak` for LaKe.

Rules
-----
1. LaKe's guarantees hold in every case: `packet_lifetime` is longer than any packet needs, writes
   are visible once they are acknowledged, and `replies_copied` is set if a fault copies replies
   and another one requests: else a client never has two requests with one opaque.
2. A share of the cases are races: one card, few keys, bad links on both sides of the card from the
   beginning to the end, short restarts. In the other cases, requests of one key seldom overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netkv.lab.hardware import TopologySpec
from netkv.lab.spec import Poisson
from netkv.rack.nodes import Card, Client, Servers
from netkv.scenarios import faults
from netkv.scenarios.events import Direction, FaultKind, LinkFault, TimelineEvent
from netkv.schemes.lake.options import BUILT_ELEMENTS, UNIT_CYCLES, LakeOptions
from netkv.sim.models import LinkModel, Profile, ServerModel, Time
from netkv.soak.case import Case, Fault
from netkv.soak.random_draw import RandomDraw

if TYPE_CHECKING:
    from netkv.sim.rack import SimRack

SECOND = 1_000_000_000
RACES = 0.5
"""Share of the cases that are races."""
QUIET = 0.05
"""Share of the duration of races, at its end, without faults of links."""
CALM = 0.3
"""Share of the races without faults: then most work is done in the card."""
MAX_CYCLES = 150
"""Cycles of an element for a request, its reply, and a pause."""
SLOW = 20.0
"""Factor by which a random processor time exceeds its mean at most, in practice."""

_DIRECTIONS: tuple[Direction, ...] = ("both", "both", "to", "from")


def adapt(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    """A race, or the case with options of LaKe; its faults are of these kinds."""
    caches, longest, ages, age = 0.8, 4.0, 0.2, draw.scale(0.01, 1.0)
    clock, elements = draw.scale(50, 200), draw.one((1, 2, 3, 5, BUILT_ELEMENTS))
    if draw.chance(RACES):
        case = _race(draw, case, kinds)
        # So slow that requests meet in the card, but seldom wait for an element. Values that become
        # too old are filled again.
        assert isinstance(case.rack.workload.arrivals, Poisson), "races are an open loop"
        needed = MAX_CYCLES * case.rack.workload.arrivals.rate / elements * 1e-6
        clock = max(draw.one((10, 10, 15, 30, 100)), round(needed, 1))
        caches, longest, ages, age = 0.5, 1.5, 0.7, case.duration * draw.scale(0.002, 0.03)
    shortest = packet_lifetime(case)
    options: dict[str, Any] = {
        "card_clock": clock,
        "elements": elements,
        "shared_caches": draw.chance(caches),
        "fill": draw.chance(0.9),
        "packet_lifetime": round(min(shortest * draw.scale(1.01, longest), 60), 6),
        "replies_copied": _copies_replies(case) and _copies_requests(case),
        "max_age": round(age, 6) if draw.chance(ages) else 0.0,
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
        slow = max(
            (fault.begin.slow.factor for fault in case.faults if fault.begin.slow), default=1
        )
        at_server += slow * lab.queue_limit / lab.service_rate
    late = max((_lateness(fault) for fault in _of_servers(case)), default=0.0)
    on_link = 2 * (late + _longest(profile.card_link)) + 2e-6 * profile.host_delay
    return at_server + on_link


def too_old(rack: SimRack, read_back: Callable[[], int]) -> str | None:
    """Waits for `max_age`, then reads every written key: no card may answer."""
    options = LakeOptions.of(rack.spec.lab)
    if not options.max_age:
        return None
    rounding = 4 * UNIT_CYCLES / (options.card_clock * 1e6)
    rack.advance(rack.nanoseconds + round((options.max_age + rounding) * SECOND))
    before = _hits(rack)
    # A read that is sent again may find the value of the first reply.
    repeated = read_back()
    found = _hits(rack) - before
    if found <= repeated:
        return None
    return f"Cards answered {found} reads with values older than {options.max_age:g} s."


def _hits(rack: SimRack) -> int:
    return sum(card["hits"] for card in rack.statistics["cards"])


def _of_servers(case: Case) -> Iterator[LinkFault]:
    """The faults of links between cards and servers."""
    for fault in case.faults:
        link = fault.begin.link
        if link is not None and link.node.startswith(Servers.NAME):
            yield link


def _copies_replies(case: Case) -> bool:
    """Whether a request that passed a card may be answered twice."""
    return any(fault.duplicate for fault in _of_servers(case))


def _copies_requests(case: Case) -> bool:
    """Whether a request may pass a card twice."""
    links = (fault.begin.link for fault in case.faults)
    return any(
        link is not None and link.duplicate and not link.node.startswith(Servers.NAME)
        for link in links
    )


def _lateness(fault: LinkFault) -> float:
    """Seconds by which the fault delays a packet at most, in one direction."""
    return fault.delay + fault.jitter + (fault.reorder_span if fault.reorder else 0.0)


def _longest(link: LinkModel) -> float:
    """Seconds on a link with a full queue."""
    return link.delay * 1e-6 + link.queue_kib * 8192 / (link.bandwidth_gbps * 1e9)


def _race(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    """Times follow from the mean time between two requests. So requests meet in the card if they
    are fast, and LaKe stores values again soon after a loss or a restart."""
    calm = draw.chance(CALM)
    gap = 1 / (draw.scale(60_000, 200_000) if calm else draw.scale(20_000, 300_000))
    requests = draw.scale(6_000, 9_000) if calm else draw.scale(2_000, 5_000)
    writes = draw.scale(0.02, 0.25)
    workload = {
        "keys": draw.scale_count(2, 8),
        "writes": writes,
        "deletes": draw.scale(0.005, 0.1) if draw.chance(0.5) else 0.0,
        "arrivals": Poisson(rate=round(1 / gap, 1)),
        "shift": None,
    }
    limited = draw.chance(0.15) and "slow" in kinds
    service_rate = round(draw.scale(0.8, 4) / gap, 1)
    lab = {
        "topology": TopologySpec(),
        "servers": 1,
        "server_processes": 1,
        "clients": draw.count(2, 8),
        "service_rate": service_rate if limited else None,
        "queue_limit": draw.scale_count(1, 16),
    }
    rack = case.rack.model_copy(
        update={
            "workload": case.rack.workload.model_copy(update=workload),
            # Requests are sent once; writes without an answer make the history vague.
            "deadline": round(gap * draw.scale(200, 1_000), 6),
        }
    )
    case = case.model_copy(
        update={
            "rack": rack,
            "profile": _fast(draw, case.profile, gap),
            "duration": round(gap * requests, 6),
            "faults": (),
        }
    )
    case = _with_lab(case, lab)
    return case.model_copy(update={"faults": _faults(draw, case, gap, () if calm else kinds)})


def _fast(draw: RandomDraw, profile: Profile, gap: float) -> Profile:
    """Links and a server that are not busy with a request every `gap` seconds."""
    time = Time(kind="exponential", mean=float(f"{0.1 * 1e6 * gap:.3g}"))
    link = LinkModel(bandwidth_gbps=draw.scale(1, 100), delay=draw.scale(0.5, 10), queue_kib=256)
    server = ServerModel(
        receive=time, send=time, get=time, put=time, delete=time, cores=draw.count(1, 4), queue=16
    )
    links = {
        "client_link": link,
        "server_link": link,
        "card_link": LinkModel(bandwidth_gbps=63, delay=0.9, queue_kib=64),
    }
    return profile.model_copy(update={**links, "server": server})


def _faults(
    draw: RandomDraw, case: Case, gap: float, kinds: Sequence[FaultKind]
) -> tuple[Fault, ...]:
    """Bad links, and restarts of card and server."""
    nodes = (f"{Card.NAME}0", f"{Servers.NAME}0", Client.NAME)
    found = [_bad_link(draw, node, case.duration, gap, kinds) for node in nodes]
    # Drawn in every case, so that `kinds` changes no other draw.
    seed, restarts = draw.seed(), draw.chance(0.7)
    restarted = nodes[: draw.one((1, 1, 2))]
    every, last = gap * draw.scale(80, 400), gap * draw.scale(0.5, 5)
    if restarts and (ends := [kind for kind in kinds if kind in ("stop", "kill")]):
        found += _restarts(
            faults.random_schedule(
                seed, case.duration, case.rack.lab, ends,
                nodes=restarted, every=every, last=last, storage="kept",
            )
        )  # fmt: skip
    present = (fault for fault in found if fault is not None)
    return tuple(sorted(present, key=lambda fault: fault.begin.at))


def _restarts(events: Sequence[TimelineEvent]) -> Iterator[Fault]:
    """The faults of a schedule of restarts."""
    down: dict[str, TimelineEvent] = {}
    for event in events:
        name = str(event.node)
        if (begin := down.pop(name, None)) is None:
            down[name] = event
        else:
            yield Fault(begin=begin, end=event)


def _bad_link(
    draw: RandomDraw, node: str, duration: float, gap: float, kinds: Sequence[FaultKind]
) -> Fault | None:
    """A link that loses, copies and reorders packets; None for a good one."""
    span, delay, jitter = draw.scale(4, 40), draw.scale(0.5, 5), draw.scale(0.5, 10)
    drawn = {
        "loss": (draw.chance(0.2), {"loss": draw.scale(0.0005, 0.01)}),
        "duplicate": (draw.chance(0.4), {"duplicate": draw.scale(0.01, 0.2)}),
        "reorder": (
            draw.chance(0.7),
            {"reorder": draw.scale(0.1, 0.5), "reorder_span": round(gap * span, 9)},
        ),
        "delay": (
            draw.chance(0.3),
            {"delay": round(gap * delay, 9), "jitter": round(gap * jitter, 9)},
        ),
    }
    values: dict[str, Any] = {}
    for kind, (chosen, settings) in drawn.items():
        if chosen and kind in kinds:
            values |= settings
    direction = draw.one(_DIRECTIONS)
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
