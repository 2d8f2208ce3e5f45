"""Faults of links in cases of `netkv soak`."""

from __future__ import annotations

from netkv.events.actions.link import Link, LinkFault
from netkv.events.case import Fault
from netkv.events.event import TimelineEvent


def bad_link(fault: Fault) -> LinkFault | None:
    """How a link is bad during a fault; None if it is no fault of a link."""
    action = fault.begin.action
    return action.link if isinstance(action, Link) else None


def with_link(fault: Fault, link: LinkFault) -> Fault:
    """The fault of a link with another impairment."""
    begin = TimelineEvent.of(fault.begin.at, Link(link=link))
    return fault.model_copy(update={"begin": begin})
