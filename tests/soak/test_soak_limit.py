"""The loss that FarReach's paper admits: client and switch crash together (section III-D)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netkv.events.case import Fault
from netkv.soak.case import Case, load
from netkv.soak.run import play

CASE = load(Path(__file__).parent / "cases" / "farreach-client-and-switch.json")
"""A case found by `netkv soak farreach --faults client-crash,kill`, changed to fail with all seeds.

It has 20 keys and no snapshots, and the client crashes 4 ms before the switch.
"""
CLIENT, SWITCH = CASE.faults
RACKS = range(8)
"""Seeds: other operations and keys, the same two crashes."""


def _kinds(faults: Sequence[Fault]) -> set[str]:
    cases = (_of(seed, faults) for seed in RACKS)
    found = (play(case).violation for case in cases)
    return {violation.kind for violation in found if violation is not None}


def _of(seed: int, faults: Sequence[Fault]) -> Case:
    rack = CASE.rack.model_copy(update={"seed": seed})
    return CASE.model_copy(update={"rack": rack, "faults": tuple(faults)})


def test_kill_of_client_and_switch_loses_their_records() -> None:
    assert CLIENT.begin.describe() == "crash client"
    assert SWITCH.begin.describe() == "kill switch"
    kinds = _kinds([CLIENT, SWITCH])
    assert kinds, "nothing was lost"
    assert kinds <= {"stale-read", "lost-write", "not-linearizable"}


@pytest.mark.parametrize("fault", [CLIENT, SWITCH], ids=["client", "switch"])
def test_crash_of_client_or_switch_alone_loses_nothing(fault: Fault) -> None:
    assert _kinds([fault]) == set()
