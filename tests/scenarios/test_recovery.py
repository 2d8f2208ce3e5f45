"""Unfinished recoveries: their description in a result."""

from __future__ import annotations

from netkv.scenarios.recovery import interrupted, not_recovered, unfinished
from netkv.scenarios.results import RecoveryDetails, RunEvent


def event(time: float, kind: str, node: str = "switch") -> RunEvent:
    details = RecoveryDetails(phases=[]) if kind == "recovered" else None
    return RunEvent(time=time, kind=kind, node=node, text="", recovery=details)


def texts(*events: RunEvent) -> list[str]:
    return [found.text for found in unfinished(events)]


def test_completed_recovery_is_not_listed_as_unfinished() -> None:
    assert texts(event(1, "killed"), event(2, "recovering"), event(3, "recovered")) == []
    assert texts(event(1, "killed"), event(2, "started")) == []
    assert texts(event(2, "recovering"), event(3, "recovered"), event(4, "killed")) == []


def test_a_recovery_without_an_end_is_named() -> None:
    assert texts(event(5, "recovering")) == ["switch: begun at 5.0 s, not recovered by the end"]


def test_interrupted_recovery_names_its_cause_and_outcome() -> None:
    cut = (event(5, "recovering"), event(6, "killed", "controller"), event(7, "recovering"))
    why = "switch: begun at 5.0 s, interrupted at 6.0 s (controller killed), "
    assert texts(*cut) == [
        why + "not recovered by the end",
        "switch: begun at 7.0 s, not recovered by the end",
    ]
    assert texts(*cut, event(8, "recovered")) == [why + "recovered by the next"]
    assert texts(*cut[:2]) == [why + "not recovered by the end"]
    (first, second) = unfinished(cut)
    assert (first.cut_by, first.ended, second.cut_by) == ("controller killed", 6, None)
    assert not_recovered([first, second]) == [second], "each switch is listed once"


def test_recovery_of_a_lost_switch_goes_on_when_it_is_back() -> None:
    """Its control plane reports a beginning for each: the links to the switch, then its state."""
    lost = (event(4, "killed"), event(4.2, "recovering"), event(6, "started"))
    assert texts(*lost, event(6.1, "recovering"), event(7, "recovered")) == []
    (left,) = unfinished((*lost, event(6.1, "recovering")))
    assert (left.began, left.cut_by) == (6.1, None)
    (never,) = unfinished(lost)
    assert (never.began, never.recovered) == (4.2, False)


def test_every_unfinished_recovery_is_counted() -> None:
    events = [
        *(event(4, "killed"), event(4.2, "recovering"), event(5, "killed", "controller")),
        *(event(6, "started"), event(6.1, "recovering"), event(7, "recovered")),
        *(event(8, "killed", "leaf-1"), event(8.1, "recovering", "leaf-1")),
    ]
    found = unfinished(events)
    assert [(each.switch, each.recovered) for each in found] == [
        ("switch", True),
        ("leaf-1", False),
    ]
    assert interrupted(found) + len(not_recovered(found)) == len(found)


def test_second_beginning_interrupts_the_first_recovery() -> None:
    events = (event(5, "recovering"), event(6, "recovering"), event(7, "recovered"))
    assert texts(*events) == [
        "switch: begun at 5.0 s, interrupted at 6.0 s (another beginning), recovered by the next"
    ]


def test_recovery_is_not_interrupted_by_other_nodes() -> None:
    found = texts(
        event(1, "recovering", "leaf-1"),
        event(1, "recovering", "leaf-2"),
        event(2, "killed", "leaf-2"),
        event(2, "killed", "servers-0"),
        event(3, "recovered", "leaf-1"),
    )
    assert found == [
        "leaf-2: begun at 1.0 s, interrupted at 2.0 s (leaf-2 killed), not recovered by the end"
    ]
