"""Events about changes of a rack say which faults begin and end with them."""

from __future__ import annotations

from typing import Any

import pytest

from netkv.events.event import action_of
from netkv.model.report import Cause, Change
from netkv.scenarios.changes import Changes


def fields(changes: Changes, action: dict[str, Any], cause: Cause = "scenario") -> dict[str, Any]:
    return changes.fields(action_of(action), cause)


def faults(changes: Changes, action: dict[str, Any]) -> tuple[int | None, tuple[int, ...]]:
    change: Change = fields(changes, action)["change"]
    return change.begins, change.ends


@pytest.mark.parametrize(
    ("action", "kind", "node"),
    [
        ({"kill": "servers-0"}, "fault", "servers-0"),
        ({"start": "servers-0", "storage": "lost"}, "healed", "servers-0"),
        ({"crash": "client"}, "fault", "client"),
        ({"link": {"node": "spine-0:leaf-1", "delay": 0.1}}, "fault", "spine-0:leaf-1"),
        ({"link": {"node": "client"}}, "healed", "client"),
        ({"partition": "controller"}, "fault", "controller"),
        ({"heal": "controller"}, "healed", "controller"),
        ({"slow": {"node": "servers-1", "factor": 2}}, "fault", "servers-1"),
        ({"slow": {"node": "servers-1", "factor": 1}}, "healed", "servers-1"),
        ({"rate": 50}, "load", "client"),
        ({"shift": {"kind": "hot-in"}}, "load", "client"),
    ],
)
def test_event_has_kind_and_node_of_the_change(
    action: dict[str, Any], kind: str, node: str
) -> None:
    found = fields(Changes(), action)
    assert (found["kind"], found["node"]) == (kind, node)
    assert found["change"].action == next(iter(action))


def test_fault_ends_with_the_change_that_heals_it() -> None:
    changes = Changes()
    assert faults(changes, {"kill": "switch"}) == (1, ())
    assert faults(changes, {"partition": "controller"}) == (2, ())
    assert faults(changes, {"start": "switch"}) == (None, (1,))
    assert faults(changes, {"rate": 5}) == (None, ())
    assert faults(changes, {"heal": "controller"}) == (None, (2,))
    assert faults(changes, {"heal": "controller"}) == (None, ())


def test_fault_of_a_link_ends_when_both_directions_are_healed() -> None:
    changes = Changes()
    assert faults(changes, {"link": {"node": "client", "loss": 0.5}}) == (1, ())
    one = {"node": "client", "direction": "to"}
    assert faults(changes, {"link": {**one, "loss": 1}}) == (2, ())
    assert faults(changes, {"link": one}) == (None, (2,))
    assert faults(changes, {"link": {"node": "client"}}) == (None, (1,))


def test_later_fault_of_the_same_target_replaces_the_first() -> None:
    changes = Changes()
    assert faults(changes, {"slow": {"node": "servers-0", "factor": 2}}) == (1, ())
    assert faults(changes, {"slow": {"node": "servers-0", "factor": 3}}) == (2, (1,))
    assert faults(changes, {"slow": {"node": "servers-0", "factor": 1}}) == (None, (2,))


def test_text_says_who_has_caused_the_change() -> None:
    changes = Changes()
    action = {"kill": "switch"}
    causes: tuple[Cause, ...] = ("scenario", "user", "duration")
    texts = [fields(changes, action, cause)["text"] for cause in causes]
    assert texts == ["kill switch", "Injected: kill switch", "Healed: kill switch"]
    assert fields(changes, action, "user")["change"].what == "kill switch"
