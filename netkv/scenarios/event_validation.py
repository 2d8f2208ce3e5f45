"""Validation of events: the nodes and schemes of a run must support each in its current state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from netkv import schemes
from netkv.errors import FieldError
from netkv.events.action import Action, Need
from netkv.events.event import Event
from netkv.events.state import RackState
from netkv.model import nodes
from netkv.model.spec import WorkloadSpec
from netkv.schemes.spec import LabSpec

FieldPath: TypeAlias = tuple[str | int, ...]
"""Field names and list indices."""


def check(
    events: Sequence[Event],
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
    state = RackState(lab, workload, optional)
    for index, event in sorted(enumerate(events), key=lambda item: item[1].at):
        state.index = index
        try:
            if event.at >= duration:
                raise FieldError(
                    f"the event '{event.describe()}' at {event.at:g} s is after the end of the run "
                    f"(duration {duration:g} s)",
                    "at",
                )
            event.action.check(state, f"the event at {event.at:g} s")
        except FieldError as error:
            raise error.below(index) from None
    state.end()


def check_now(
    action: Action,
    lab: LabSpec,
    workload: WorkloadSpec,
    *,
    down: Iterable[str],
    partitioned: bool,
    optional: Collection[type[nodes.Node]] = (),
) -> None:
    """Checks an action that is carried out now; raises `FieldError` with a path that begins at its
    event.

    `down`: the nodes that do not run. `partitioned`: whether the control channel is cut.
    """
    state = RackState(lab, workload, optional)
    state.down, state.partitioned = set(down), partitioned
    action.check_now(state)
    action.check(state, "the event")


def check_schemes(names: Iterable[str], needs: Iterable[tuple[Need, FieldPath]]) -> None:
    """Raises `FieldError` if a scheme has not what an action needs.

    `needs`: of events and random faults, with their paths.
    """
    chosen = list(names)
    for need, path in needs:
        able = [each.name for each in schemes.all_schemes() if getattr(each.traits, need.trait)]
        for name in chosen:
            if name not in able:
                raise FieldError(need.text.format(scheme=name, able=", ".join(able)), *path)


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
