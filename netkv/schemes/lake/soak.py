"""Random cases of `netkv soak` for LaKe.

Rules
-----
1. LaKe's guarantees hold in every case: `packet_lifetime` is longer than any packet needs, and
   `replies_copied` is set if a fault copies replies and another one requests: else a client never
   has two requests with one opaque.
2. A share of the cases are races (`netkv.kits.cases.card_races`).
3. Writes are visible once they are acknowledged. In a share of the races with conditional writes
   they are visible at once. There every SET that passes the card reaches the server, once and in
   order, so that only a conditional one can be refused: nothing restarts, no request is copied,
   links behind the card are good, and the server has one core and a long queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netkv.events.actions.link import LinkFault
from netkv.events.case import Fault, GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.card_races import answers_too_old, lateness, longest, race, time_at_server
from netkv.kits.cases.conditional_writes import with_conditional_writes
from netkv.kits.cases.links import bad_link, with_link
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.nodes import Card, Servers
from netkv.model.spec import Poisson
from netkv.schemes.lake.options import BUILT_ELEMENTS, LakeOptions

if TYPE_CHECKING:
    from netkv.kits.cases.played import PlayedRack

RACES = 0.5
"""Share of the cases that are races."""
AT_ONCE = 0.5
"""Share of the races with conditional writes where writes are visible at once."""
LONG_QUEUE = 256
"""Requests that wait at a server of such a case, at most."""
MAX_CYCLES = 150
"""Cycles of an element for a request, its reply, and a pause."""


def adapt(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:
    """A race, or the case with options of LaKe; its faults are of these kinds."""
    caches, longest, ages, age = 0.8, 4.0, 0.2, draw.scale(0.01, 1.0)
    clock, elements = draw.scale(50, 200), draw.one((1, 2, 3, 5, BUILT_ELEMENTS))
    is_race = draw.chance(RACES)
    if is_race:
        case = race(draw, case, kinds, f"{Card.NAME}0")
        # So slow that requests meet in the card, but seldom wait for an element. Values that become
        # too old are filled again.
        assert isinstance(case.rack.workload.arrivals, Poisson), "races are an open loop"
        needed = MAX_CYCLES * case.rack.workload.arrivals.rate / elements * 1e-6
        clock = max(draw.one((10, 10, 15, 30, 100)), round(needed, 1))
        caches, longest, ages, age = 0.5, 1.5, 0.7, case.duration * draw.scale(0.002, 0.03)
    options: dict[str, Any] = {
        "card_clock": clock,
        "elements": elements,
        "shared_caches": draw.chance(caches),
        "fill": draw.chance(0.9),
    }
    margin = draw.scale(1.01, longest)
    options["max_age"] = round(age, 6) if draw.chance(ages) else 0.0
    case = with_conditional_writes(draw, case)
    if draw.chance(AT_ONCE) and is_race and case.rack.workload.conditional:
        case = _visible_at_once(case)
    options["packet_lifetime"] = round(min(packet_lifetime(case) * margin, 60), 6)
    options["replies_copied"] = copies_replies(case) and copies_requests(case)
    return case.with_lab(options)


def _visible_at_once(case: GenericCase) -> GenericCase:
    """The case with SETs visible at once, and rule 3."""
    server = case.profile.server.model_copy(update={"cores": 1, "queue": LONG_QUEUE})
    profile = case.profile.model_copy(update={"server": server})
    faults = tuple(fault for fault in map(_without_copies, case.faults) if fault is not None)
    case = case.model_copy(update={"profile": profile, "faults": faults})
    return case.with_lab({"set_visible": "at-once", "service_rate": None})


def _without_copies(fault: Fault) -> Fault | None:
    """The fault of a link before the card, without copies; None for another one."""
    link = bad_link(fault)
    if link is None or link.node.startswith(Servers.NAME):
        return None
    good = link.model_copy(update={"duplicate": 0.0})
    if good.heals:
        return None
    return with_link(fault, good)


def packet_lifetime(case: GenericCase) -> float:
    """Seconds within which a packet of a case reaches the server and its reply comes back to the
    card."""
    profile = case.profile
    late = max((lateness(fault) for fault in of_servers(case)), default=0.0)
    on_link = 2 * (late + longest(profile.card_link)) + 2e-6 * profile.host_delay
    return time_at_server(case) + on_link


def check(rack: PlayedRack, read_back: Callable[[], int]) -> str | None:
    """Waits for `max_age`, then reads every written key: no card may answer."""
    options = LakeOptions.of(rack.spec.lab)
    return answers_too_old(rack, read_back, options, options.max_age)


def of_servers(case: GenericCase) -> Iterator[LinkFault]:
    """The faults of links between cards and servers."""
    for fault in case.faults:
        link = bad_link(fault)
        if link is not None and link.node.startswith(Servers.NAME):
            yield link


def copies_replies(case: GenericCase) -> bool:
    """Whether a request that passed a card may be answered twice."""
    return any(fault.duplicate for fault in of_servers(case))


def copies_requests(case: GenericCase) -> bool:
    """Whether a request may pass a card twice."""
    links = map(bad_link, case.faults)
    return any(
        link is not None and link.duplicate and not link.node.startswith(Servers.NAME)
        for link in links
    )
