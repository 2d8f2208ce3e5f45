"""Cases of `netkv soak` for caches in cards: races, and what their options and checks need.

A race has few keys, short restarts, and bad links on both sides of one card from the beginning to
the end. In other cases, requests of one key seldom meet in a card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netkv.events import random_faults as faults
from netkv.events.actions.link import Direction, LinkFault
from netkv.events.case import Fault, GenericCase
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.corruption import HIGH, source
from netkv.kits.cases.random_draw import RandomDraw
from netkv.metrics.rises import of_name
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Client, Servers
from netkv.model.profile import LinkModel, Profile, ServerModel, Time
from netkv.model.spec import Poisson

if TYPE_CHECKING:
    from netkv.kits.cases.played import PlayedRack
    from netkv.model.scheme_options import CardCache

SECOND = 1_000_000_000
QUIET = 0.05
"""Share of the duration of races, at its end, without faults of links."""
CALM = 0.3
"""Share of the races without faults: then most work is done in the card."""
SLOW = 20.0
"""Factor by which a random processor time exceeds its mean at most, in practice."""

_DIRECTIONS: tuple[Direction, ...] = ("both", "both", "to", "from")


def race(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind], card: str) -> GenericCase:
    """A race at the card of this name.

    Times follow from the mean time between two requests. So requests meet in the card if they are
    fast, and the card stores values again soon after a loss or a restart.
    """
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
        "topology": TopologySpec(kind="rack"),
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
    case = case.with_lab(lab)
    return case.model_copy(update={"faults": _faults(draw, case, gap, () if calm else kinds, card)})


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
    draw: RandomDraw, case: GenericCase, gap: float, kinds: Sequence[FaultKind], card: str
) -> tuple[Fault, ...]:
    """Bad links, and restarts of card and server."""
    nodes = (card, f"{Servers.NAME}0", Client.NAME)
    corruption = source(case)
    found = [_bad_link(draw, corruption, node, case.duration, gap, kinds) for node in nodes]
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
        name = str(event.action.node)
        if (begin := down.pop(name, None)) is None:
            down[name] = event
        else:
            yield Fault(begin=begin, end=event)


def _bad_link(
    draw: RandomDraw,
    corruption: RandomDraw,
    node: str,
    duration: float,
    gap: float,
    kinds: Sequence[FaultKind],
) -> Fault | None:
    """A link that loses, copies, corrupts and reorders packets; None for a good one."""
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
        "corrupt": (corruption.chance(0.4), {"corrupt": corruption.scale(0.001, HIGH)}),
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


def time_at_server(case: GenericCase) -> float:
    """Seconds that a request is at a server at most."""
    server, lab = case.profile.server, case.rack.lab
    times = (server.receive, server.send, server.get, server.put, server.delete)
    work = sum(time.mean + time.spread for time in times) * 1e-6
    at_server = SLOW * work + server.queue * work / server.cores
    if lab.service_rate is not None:
        slow = max((fault.begin.action.slowdown or 1 for fault in case.faults), default=1)
        at_server += slow * lab.queue_limit / lab.service_rate
    return at_server


def lateness(fault: LinkFault) -> float:
    """Seconds by which the fault delays a packet at most, in one direction."""
    return fault.delay + fault.jitter + (fault.reorder_span if fault.reorder else 0.0)


def longest(link: LinkModel) -> float:
    """Seconds on a link with a full queue."""
    return link.delay * 1e-6 + link.queue_kib * 8192 / (link.bandwidth_gbps * 1e9)


def answers_too_old(
    rack: PlayedRack, read_back: Callable[[], int], options: CardCache, max_age: float
) -> str | None:
    """Waits for `max_age` seconds, then reads every written key: no card may answer. A sentence if
    one did; None if not, or if `max_age` is 0."""
    if not max_age:
        return None
    rounding = 4 * options.unit_cycles / (options.clock_mhz * 1e6)
    rack.advance(rack.nanoseconds + round((max_age + rounding) * SECOND))
    before = _hits(rack)
    # A read that is sent again may find the value of the first reply.
    repeated = read_back()
    found = _hits(rack) - before
    if found <= repeated:
        return None
    return f"Cards answered {found} reads with values older than {max_age:g} s."


def _hits(rack: PlayedRack) -> int:
    return sum(of_name(card, "hits") for card in rack.statistics["cards"])
