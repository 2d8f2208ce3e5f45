"""Whether a timeline is possible: nothing stops that is down, nothing names what is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netkv import schemes
from netkv.errors import suggest
from netkv.lab.spec import LabSpec
from netkv.scenarios.events import (
    LinkFault,
    SlowFault,
    TimelineEvent,
    node_names,
    server_names,
)


def check(
    events: Iterable[TimelineEvent], lab: LabSpec, duration: float, *, coordinator: bool = False
) -> None:
    """Walks through events in the order of their times; raises ValueError with a sentence.

    `coordinator`: whether there may be one.
    """
    course = _Course(lab, coordinator)
    for event in events:
        if event.at >= duration:
            raise ValueError(
                f"the event '{event.describe()}' at {event.at:g} s is after the end of the run "
                f"(duration {duration:g} s)"
            )
        course.take(event)
    course.end()


def check_schemes(names: Iterable[str], crashes: bool) -> None:
    """Raises ValueError if clients are to lose what they keep, but those of a scheme keep nothing.

    `crashes`: whether an event or a random fault is a crash of the client.
    """
    if not crashes:
        return
    for name in names:
        if not schemes.get(name).client_keeps:
            keep = [scheme.name for scheme in schemes.all_schemes() if scheme.client_keeps]
            right = f"schemes whose clients do: {', '.join(keep)}" if keep else "no scheme does"
            raise ValueError(
                f"a crash of the client loses what it keeps, but clients of '{name}' keep nothing "
                f"({right}); 'kill: client' stops the whole load generator"
            )


def check_coordinator(names: Iterable[str], needed: bool) -> None:
    """Raises ValueError if something is to happen to the coordinator, but a scheme has none."""
    without = [name for name in names if needed and not schemes.get(name).coordinated]
    if without:
        able = [scheme.name for scheme in schemes.all_schemes() if scheme.coordinated]
        raise ValueError(
            f"an event is about the coordinator, but '{without[0]}' has none "
            f"(schemes that do: {', '.join(able)})"
        )


def check_names(found: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raises ValueError for the first name that is not known; `what` is where it stands."""
    for name in found:
        if name not in known:
            near = suggest(name, known, label="Its nodes").rstrip(".")
            raise ValueError(f"there is no node '{name}' in this lab ({what}). {near}")


class _Course:
    """What is down, cut or partitioned at a point of the timeline."""

    def __init__(self, lab: LabSpec, coordinator: bool) -> None:
        self._lab = lab
        self._nodes = node_names(lab, coordinator=coordinator)
        self._down: set[str] = set()
        self._cut: set[tuple[str, str]] = set()
        """Link and direction that lose every frame."""
        self._partitioned = False

    def take(self, event: TimelineEvent) -> None:
        """The next event."""
        where = f"the event at {event.at:g} s"
        if event.node is not None:
            check_names([event.node], self._nodes, where)
            self._up_or_down(event.node, event, where)
        elif event.crash is not None:
            if event.crash in self._down:
                raise ValueError(f"{where} is about '{event.crash}', which is down by then")
        elif event.link is not None:
            self._link(event.link, where)
        elif event.slow is not None:
            self._slow(event.slow, where)
        elif event.partition is not None:
            if self._partitioned:
                raise ValueError(f"{where} cuts the control channel, which is cut by then")
            self._partitioned = True
        elif event.heal is not None:
            if not self._partitioned:
                raise ValueError(
                    f"{where} heals the control channel, which no earlier event has cut"
                )
            self._partitioned = False

    def end(self) -> None:
        """The end of the run."""
        if "client" in self._down:
            raise ValueError("the client is down at the end, so nothing could be verified")
        for node, direction in sorted(self._cut):
            raise ValueError(
                f"the link {direction} '{node}' loses every frame at the end, so nothing could be "
                f"verified; heal it with a 'link' event without losses"
            )

    def _up_or_down(self, node: str, event: TimelineEvent, where: str) -> None:
        if event.action == "start":
            if node not in self._down:
                raise ValueError(f"{where} starts '{node}', which no earlier event stopped")
            self._down.discard(node)
        elif node in self._down:
            raise ValueError(f"{where} is about '{node}', which is down by then")
        else:
            self._down.add(node)

    def _link(self, link: LinkFault, where: str) -> None:
        if link.node in ("switch", "controller"):
            other = (
                "; the control channel is cut by 'partition: controller'"
                if link.node == "controller"
                else ""
            )
            raise ValueError(
                f"{where} is about the link of '{link.node}'; a link is named by the node at its "
                f"other end: client or {server_names(self._lab)[0]}{other}"
            )
        ends = [name for name in self._nodes if name not in ("switch", "controller")]
        check_names([link.node], ends, where)
        for direction in link.directions:
            if link.loss >= 1:
                self._cut.add((link.node, direction))
            else:
                self._cut.discard((link.node, direction))

    def _slow(self, slow: SlowFault, where: str) -> None:
        check_names([slow.node], server_names(self._lab), where)
        if self._lab.service_rate is None:
            raise ValueError(
                f"{where} slows '{slow.node}' down, but only servers of limited rate can be "
                f"slowed down: set 'lab.service_rate'"
            )
