"""Random cases of `netkv soak` for the cache in clients.

Rules
-----
1. The guarantees of the cache hold in every case: `packet_lifetime` is longer than any packet
   needs, and `replies_copied` is set if a fault copies replies and another one requests.
2. In two thirds of the cases all clients are behind one card and share its entries: then histories
   are linearizable. In the others some clients write elsewhere, and there is a `client_max_age`:
   then a read may return a replaced value for about that long (`staleness`).
3. Most cases are races (`netkv.kits.cases.card_races`). The others are short: a frame takes
   hundreds of cycles of the design, for the bus of the card.
4. Cards have one or four functions, so that two builds of the design are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netkv.events.actions.link import LinkFault
from netkv.events.case import Fault, GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.card_races import answers_too_old, lateness, longest, race, time_at_server
from netkv.kits.cases.conditional_writes import with_conditional_writes
from netkv.kits.cases.links import bad_link
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.nodes import ClientCard
from netkv.schemes.client_cache.options import ClientCacheOptions

if TYPE_CHECKING:
    from netkv.kits.cases.played import PlayedRack

RACES = 0.75
"""Share of the cases that are races."""
SHORT = 0.2
"""Share of their duration for which other cases run."""
OTHER_WRITERS = 1 / 3
"""Share of the cases in which some clients write elsewhere."""
FUNCTIONS = (1, 4)
MAX_SWITCHES = 4
"""Switches on the way to a server, at most."""
_CARD = f"{ClientCard.NAME}0"


def adapt(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:
    """A race, or the case with options of the cache; its faults are of these kinds."""
    margin_most, ages, age = 4.0, 0.2, draw.scale(0.01, 1.0)
    if draw.chance(RACES):
        case = race(draw, case, kinds, _CARD)
        margin_most, ages, age = 1.5, 0.7, case.duration * draw.scale(0.002, 0.03)
    else:
        case = case.model_copy(update={"duration": round(SHORT * case.duration, 6)})
    case = _with_clients(case, draw.one(FUNCTIONS))
    others, behind = draw.chance(OTHER_WRITERS), draw.count(1, 3)
    margin = draw.scale(1.01, margin_most)
    options: dict[str, Any] = {
        "set_mode": draw.one(("update", "invalidate", "store")),
        "fill": draw.chance(0.9),
        "card_tenants": "shared",
        "card_entries": 1 << draw.count(0, 8),
    }
    limited, isolated = draw.chance(ages), draw.chance(0.5)
    case = with_conditional_writes(draw, case)
    if others:
        options |= _other_writers(case, isolated, behind)
    if limited or others:
        options["client_max_age"] = round(age, 6)
    options["packet_lifetime"] = round(min(packet_lifetime(case) * margin, 60), 6)
    options["replies_copied"] = _copies(case, beyond=True) and _copies(case, beyond=False)
    return case.with_lab(options)


def check(rack: PlayedRack, read_back: Callable[[], int]) -> str | None:
    """After `client_max_age`, no card may answer."""
    options = ClientCacheOptions.of(rack.spec.lab)
    return answers_too_old(rack, read_back, options, options.client_max_age)


def packet_lifetime(case: GenericCase) -> float:
    """Seconds within which a packet of a case reaches the server and its reply comes back to the
    card."""
    profile, switch = case.profile, case.profile.switch
    in_switch = switch.latency * 1e-6 + switch.queue_packets / switch.packet_rate
    late = sum(lateness(link) for link in _links(case))
    on_way = late + longest(profile.client_link) + longest(profile.server_link)
    on_way += MAX_SWITCHES * (in_switch + longest(profile.switch_link))
    return time_at_server(case) + 2 * on_way + 2e-6 * profile.host_delay


def _with_clients(case: GenericCase, functions: int) -> GenericCase:
    """As many clients as functions, behind one card."""
    faults = tuple(fault for fault in case.faults if not _is_of_other_card(fault))
    case = case.model_copy(update={"faults": faults})
    return case.with_lab({"clients": functions, "card_functions": functions})


def _is_of_other_card(fault: Fault) -> bool:
    node = fault.begin.action.node or ""
    return node.startswith(ClientCard.NAME) and node != _CARD


def _other_writers(case: GenericCase, isolated: bool, behind: int) -> dict[str, Any]:
    """Clients that are not behind the card, or that share no entries."""
    functions = ClientCacheOptions.of(case.rack.lab).card_functions
    if functions == 1:
        return {"clients": 2, "card_clients": 1}
    return {"card_tenants": "isolated"} if isolated else {"card_clients": behind}


def _links(case: GenericCase) -> Iterator[LinkFault]:
    """The faults of links on which packets are between card and server."""
    for fault in case.faults:
        link = bad_link(fault)
        if link is not None and _is_beyond(link):
            yield link


def _is_beyond(link: LinkFault) -> bool:
    """Whether a link is beyond the card, seen from its clients."""
    return not link.node.startswith("client") or link.node.startswith(ClientCard.NAME)


def _copies(case: GenericCase, *, beyond: bool) -> bool:
    """Whether a link beyond the card, or one before it, copies packets. One beyond copies replies;
    a card gets a request twice only if one before it copies requests."""
    links = map(bad_link, case.faults)
    return any(
        link is not None and link.duplicate > 0 and _is_beyond(link) == beyond for link in links
    )
