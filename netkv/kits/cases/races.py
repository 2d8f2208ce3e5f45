"""Races of frames with recoveries: switches that fail again and again under load, and links that
are impaired all the time.

Schemes whose switches hold records adapt their cases with these (`netkv.schemes.parts.Soak`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from netkv.events.actions.link import LinkFault
from netkv.events.case import Fault, GenericCase
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import QUIET
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.nodes import Controller, Servers, partitions
from netkv.model.spec import Poisson

_DIGITS = 6


def loaded(
    case: GenericCase, latency: float, *, keys: int, written: float, read: float, retry: float
) -> GenericCase:
    """The case with so many keys, all cached, and rates of writes and reads of each, per second.
    `latency`: of the control channels in seconds. Links are quicker."""
    rate = written + read
    workload = case.rack.workload.model_copy(
        update={
            "keys": keys,
            "zipf": 0.0,
            "writes": round(written / rate, 3),
            "deletes": 0.0,
            "value_size": 16,
            "arrivals": Poisson(rate=round(keys * rate, 1)),
            "shift": None,
        }
    )
    case = case.with_lab({"service_rate": None, "cache_entries": 4 * keys, "preload": True})
    times = {"latency": round(latency * 1e6, 1), "detection_time": 1000.0}
    control = case.profile.control.model_copy(update=times)
    link = case.profile.client_link.model_copy(update={"delay": 5.0, "bandwidth_gbps": 10.0})
    profile = case.profile.model_copy(
        update={"control": control, "client_link": link, "server_link": link, "switch_link": link}
    )
    rack = case.rack.model_copy(update={"workload": workload, "retry": retry, "deadline": 1.0})
    return case.model_copy(update={"rack": rack, "profile": profile})


def held_back(case: GenericCase, share: float, span: float) -> list[LinkFault]:
    """Links that hold a share of the requests to servers back, for at most so many seconds."""
    return [
        LinkFault(node=f"{Servers.NAME}{number}", direction="to", reorder=share, reorder_span=span)
        for number in range(len(partitions(case.rack.lab)))
    ]


def with_faults(case: GenericCase, faults: Iterable[Fault]) -> GenericCase:
    """The case with faults in place of all but those of the controller."""
    kept = [it for it in case.faults if it.begin.action.goes_down == Controller.NAME]
    ordered = sorted((*kept, *faults), key=lambda fault: fault.begin.at)
    return case.model_copy(update={"faults": tuple(ordered)})


def whole(case: GenericCase, link: LinkFault) -> Fault:
    """An impairment for the whole load."""
    end = round(case.duration * (1 - QUIET), _DIGITS)
    heals = LinkFault(node=link.node, direction=link.direction)
    return Fault(begin=TimelineEvent(at=0, link=link), end=TimelineEvent(at=end, link=heals))


def killed(
    draw: RandomDraw, case: GenericCase, switch: Callable[[], str], span: float
) -> Iterator[Fault]:
    """Switches are killed, one after the other: on average after `span` seconds without a failure,
    and for as long. `switch` draws the next one."""
    end = 0.0
    while True:
        begin = round(end + span * draw.between(0.5, 1.5), _DIGITS)
        end = round(begin + span * draw.between(0.5, 1.5), _DIGITS)
        if end >= case.duration * (1 - QUIET):
            return
        name = switch()
        yield Fault(begin=TimelineEvent(at=begin, kill=name), end=TimelineEvent(at=end, start=name))
