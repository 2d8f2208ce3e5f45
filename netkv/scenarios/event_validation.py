"""Validation of events: each must name existing nodes that support it in their current state.

The kind of a node (`netkv.model.nodes`) determines the events that it supports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from netkv import schemes
from netkv.errors import FieldError
from netkv.model import layout, nodes
from netkv.model.events import LinkFault, SlowFault, TimelineEvent
from netkv.model.nodes import Client, Controller, LinkedNode, Servers, check_names
from netkv.model.spec import WorkloadSpec, check_shift
from netkv.schemes.spec import LabSpec

FieldPath: TypeAlias = tuple[str | int, ...]
"""Field names and list indices."""


def check(
    events: Sequence[TimelineEvent],
    lab: LabSpec,
    workload: WorkloadSpec,
    duration: float,
    *,
    optional: Collection[type[nodes.Node]] = (),
) -> None:
    """Checks events in the order of their times; raises `FieldError` for the first invalid one.

    The path of the error begins at the list of events. `optional`: kinds of
    nodes of the rack that not all racks have.
    """
    state = _State(lab, workload, optional)
    for index, event in sorted(enumerate(events), key=lambda item: item[1].at):
        try:
            if event.at >= duration:
                raise FieldError(
                    f"the event '{event.describe()}' at {event.at:g} s is after the end of the run "
                    f"(duration {duration:g} s)",
                    "at",
                )
            state.take(index, event)
        except FieldError as error:
            raise error.below(index) from None
    state.end()


def check_now(
    event: TimelineEvent,
    lab: LabSpec,
    workload: WorkloadSpec,
    *,
    down: Iterable[str],
    partitioned: bool,
    optional: Collection[type[nodes.Node]] = (),
) -> None:
    """Checks an event that is carried out now; raises `FieldError` with a path that begins at it.

    `down`: the nodes that do not run. `partitioned`: whether the control channel is cut.
    """
    stopped = set(down)
    if event.start is not None and event.start not in stopped:
        check_names([event.start], layout.nodes_of(lab, optional), "the event", "start")
        raise FieldError(f"the node '{event.start}' is running already", "start")
    if (event.node or event.crash) in stopped and event.start is None:
        raise FieldError(f"the node '{event.node or event.crash}' is not running", event.action)
    if event.partition is not None and partitioned:
        raise FieldError("the control channel is cut already", "partition")
    if event.heal is not None and not partitioned:
        raise FieldError("the control channel is not cut", "heal")
    state = _State(lab, workload, optional)
    state.begin(stopped, partitioned=partitioned)
    state.take(0, event, "the event")


def check_schemes(names: Iterable[str], crash: FieldPath | None) -> None:
    """Raises `FieldError` if there is a crash of the client but clients of a scheme keep no
    records.

    `crash`: path of the event or random fault that is such a crash; None if there is none.
    """
    if crash is None:
        return
    for name in names:
        if not schemes.get(name).traits.client_keeps:
            keep = [scheme.name for scheme in schemes.all_schemes() if scheme.traits.client_keeps]
            right = f"schemes whose clients do: {', '.join(keep)}" if keep else "no scheme does"
            raise FieldError(
                f"a crash of the client loses the records that it keeps, but clients of '{name}' "
                f"keep no records ({right}); 'kill: client' stops the whole load generator",
                *crash,
            )


def check_nodes(names: Iterable[str], needed: Iterable[tuple[str, FieldPath]]) -> None:
    """Raises `FieldError` if an event is about a node that a scheme does not have.

    `needed`: nodes of kinds that not all schemes have, and the paths of their events.
    """
    chosen = list(names)
    for node, path in needed:
        kind = nodes.kind_of(node)
        without = [name for name in chosen if kind not in schemes.get(name).node_kinds]
        if without:
            able = [it.name for it in schemes.all_schemes() if kind in it.node_kinds]
            raise FieldError(
                f"an event is about the node '{node}', but '{without[0]}' has none "
                f"(schemes that do: {', '.join(able)})",
                *path,
            )


class _State:
    """The nodes, links and channels that are down at a point of the timeline."""

    def __init__(
        self, lab: LabSpec, workload: WorkloadSpec, optional: Collection[type[nodes.Node]]
    ) -> None:
        self._lab = lab
        self._workload = workload
        self._nodes = layout.nodes_of(lab, optional)
        self._servers = [name for name, kind in self._nodes.items() if issubclass(kind, Servers)]
        self._down: dict[str, int] = {}
        """Node that is down → index of the event that stopped it."""
        self._cut: dict[tuple[str, str], int] = {}
        """Link and direction that lose every frame → index of the event that cut it."""
        self._partitioned = False

    def begin(self, down: Iterable[str], *, partitioned: bool) -> None:
        """Begins with this state instead of that of a rack that has just been started."""
        self._down = dict.fromkeys(down, 0)
        self._partitioned = partitioned

    def take(self, index: int, event: TimelineEvent, where: str = "") -> None:
        """Applies the next event; raises `FieldError` with a path that begins at the event.

        `where`: the event, for the error text.
        """
        where = where or f"the event at {event.at:g} s"
        if event.node is not None:
            check_names([event.node], self._nodes, where, event.action)
            self._up_or_down(event.node, index, event, where)
        elif event.crash is not None:
            if event.crash in self._down:
                text = f"{where} is about '{event.crash}', which is down by then"
                raise FieldError(text, "crash")
        elif event.link is not None:
            self._link(event.link, index, where)
        elif event.slow is not None:
            self._slow(event.slow, where)
        elif event.partition is not None:
            if self._partitioned:
                text = f"{where} cuts the control channel, which is cut by then"
                raise FieldError(text, "partition")
            self._partitioned = True
        elif event.heal is not None:
            if not self._partitioned:
                text = f"{where} heals the control channel, which no earlier event has cut"
                raise FieldError(text, "heal")
            self._partitioned = False
        elif event.shift is not None:
            try:
                check_shift(event.shift, self._workload)
            except FieldError as error:
                raise error.below("shift") from None

    def end(self) -> None:
        """Checks the state at the end of the run; raises `FieldError` with a path that begins at
        the list of events."""
        if Client.NAME in self._down:
            text = "the client is down at the end, so nothing could be verified"
            raise FieldError(text, self._down[Client.NAME])
        for (node, direction), index in sorted(self._cut.items()):
            raise FieldError(
                f"the link {direction} '{node}' loses every frame at the end, so nothing could be "
                f"verified; heal it with a 'link' event without losses",
                *(index, "link"),
            )

    def _up_or_down(self, node: str, index: int, event: TimelineEvent, where: str) -> None:
        if event.action == "start":
            if node not in self._down:
                text = f"{where} starts '{node}', which no earlier event stopped"
                raise FieldError(text, "start")
            del self._down[node]
        elif node in self._down:
            raise FieldError(f"{where} is about '{node}', which is down by then", event.action)
        else:
            self._down[node] = index

    def _link(self, link: LinkFault, index: int, where: str) -> None:
        cables = layout.cables(self._lab)
        if self._nodes.get(link.node) in (nodes.Switch, Controller):
            other = f", or by the two switches at its ends: {cables[0]}" if cables else ""
            if link.node == Controller.NAME:
                other = "; the control channel is cut by 'partition: controller'"
            raise FieldError(
                f"{where} is about the link of '{link.node}'; a link is named by the node at its "
                f"other end: {Client.NAME} or {self._servers[0]}{other}",
                *("link", "node"),
            )
        linked = [name for name, kind in self._nodes.items() if issubclass(kind, LinkedNode)]
        check_names([link.node], (*linked, *cables), where, "link", "node")
        for direction in link.directions:
            if link.loss >= 1:
                self._cut[link.node, direction] = index
            else:
                self._cut.pop((link.node, direction), None)

    def _slow(self, slow: SlowFault, where: str) -> None:
        check_names([slow.node], self._servers, where, "slow", "node")
        if self._lab.service_rate is None:
            raise FieldError(
                f"{where} slows '{slow.node}' down, but only servers of limited rate can be "
                f"slowed down: set 'lab.service_rate'",
                "slow",
            )
