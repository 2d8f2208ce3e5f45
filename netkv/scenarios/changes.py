"""Changes of a rack by its scenario and its users, as events: which faults begin and end with each.

Rules
-----
1. A fault has a number. It begins with a change that impairs something: a node, a direction of a
   link, the rate of servers, the control channel (its targets).
2. It ends with the change after which all its targets are in order, or impaired by later faults.
3. Both are known where the change is carried out, and stored with the event.
"""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

from netkv.model.events import LinkFault, SlowFault, TimelineEvent
from netkv.model.nodes import Client
from netkv.model.report import Cause, Change, EventKind

Target: TypeAlias = tuple[str, ...]
"""What a fault hits: `("node", "switch")`, `("link", "client", "to")`, `("slow", "servers-0")`,
`("channel", "controller")`."""

_LOAD = ("rate", "outstanding", "shift")
_PREFIXES: dict[Cause, str] = {"scenario": "", "user": "Injected: ", "duration": "Healed: "}


class Changes:
    """Numbers the faults of one rack."""

    def __init__(self) -> None:
        self._impaired: dict[Target, int] = {}
        """The last fault of each target that is not in order."""
        self._numbers = itertools.count(1)

    def fields(self, event: TimelineEvent, cause: Cause) -> dict[str, Any]:
        """`kind`, `node`, `text` and `change` of the event about a change that is carried out."""
        begins = None
        hit = targets(event)
        before = {self._impaired.pop(target) for target in hit if target in self._impaired}
        if hit and not heals(event):
            begins = next(self._numbers)
            self._impaired |= dict.fromkeys(hit, begins)
        ended = before - set(self._impaired.values())
        what = event.describe()
        return {
            "kind": _kind(event),
            "node": _node(event),
            "text": f"{_PREFIXES[cause]}{what}",
            "change": Change(cause, event.action, what, begins, tuple(sorted(ended))),
        }

    def impaired(self, target: Target) -> bool:
        """Whether a fault of this target has not ended."""
        return target in self._impaired


def targets(event: TimelineEvent) -> list[Target]:
    """What an event impairs or puts in order."""
    if event.node is not None:
        return [("node", event.node)]
    if event.link is not None:
        return [("link", event.link.node, direction) for direction in event.link.directions]
    if event.slow is not None:
        return [("slow", event.slow.node)]
    channel = event.partition or event.heal
    return [] if channel is None else [("channel", channel)]


def heals(event: TimelineEvent) -> bool:
    """Whether an event puts its targets in order."""
    return (
        event.start is not None
        or event.heal is not None
        or (event.link is not None and event.link.heals)
        or (event.slow is not None and event.slow.factor == 1)
    )


def cures(event: TimelineEvent) -> dict[Target, TimelineEvent]:
    """The event that heals each target of a fault; none if the event is no fault with an end."""

    def end(target: Target) -> TimelineEvent:
        match target:
            case ("node", node):
                return TimelineEvent(at=0, start=node)
            case ("link", node, direction):
                link = LinkFault.model_validate({"node": node, "direction": direction})
                return TimelineEvent(at=0, link=link)
            case ("slow", node):
                return TimelineEvent(at=0, slow=SlowFault(node=node, factor=1))
        return TimelineEvent(at=0, heal="controller")

    return {} if heals(event) else {target: end(target) for target in targets(event)}


def _kind(event: TimelineEvent) -> EventKind:
    if event.action in _LOAD:
        return "load"
    return "healed" if heals(event) else "fault"


def _node(event: TimelineEvent) -> str:
    """The node or cable that the event is about."""
    if hit := targets(event):
        return hit[0][1]
    return Client.NAME
