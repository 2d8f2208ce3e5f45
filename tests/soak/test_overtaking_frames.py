"""Frames that overtake table writes (rule 1 in `netkv/control/base.py`).

A live controller sends frames while a Write request is under way, so a frame may reach the switch
before table writes that the control plane made earlier. The simulator's control channel delivers
both in order. Here it holds writes back for up to 2 ms, behind the frames after them.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from netkv import schemes
from netkv.control import base
from netkv.schemes.scheme import forwarding_only
from netkv.sim.controller import Controller, SwitchControl
from netkv.sim.rack import SimRack
from netkv.soak.case_generator import generate
from netkv.soak.run import play

pytestmark = pytest.mark.slow

CACHES = [
    scheme.name
    for scheme in schemes.all_schemes()
    if scheme.traits.caches
    and (scheme.control_plane is not forwarding_only or scheme.network_control_plane is not None)
]
"""Schemes whose control planes exchange frames with switches."""
HELD_NS = (0, 50_000, 500_000, 2_000_000)
SEEDS = range(300, 306)


class _HeldWrites:
    """Table writes of a controller that have not been sent, in order."""

    def __init__(self) -> None:
        self.draw = random.Random(5)
        self.writes: deque[tuple[int, base.TableWrite, object]] = deque()

    def hold(self, now: int, write: base.TableWrite, session: object) -> None:
        last = self.writes[-1][0] if self.writes else 0
        self.writes.append((max(last, now + self.draw.choice(HELD_NS)), write, session))

    @property
    def due(self) -> int | None:
        return self.writes[0][0] if self.writes else None


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Holds writes of all simulated controllers back; returns the number of frames so far that
    have overtaken one."""
    held: WeakKeyDictionary[Controller, _HeldWrites] = WeakKeyDictionary()
    sessions: WeakKeyDictionary[SwitchControl, int] = WeakKeyDictionary()
    overtaken = 0
    act, timer = Controller._at_switch, Controller.timer
    end_session = SwitchControl.end_session

    def of(it: Controller) -> _HeldWrites:
        return held.setdefault(it, _HeldWrites())

    def session(it: Controller, switch: str) -> object:
        """Changes with the switch's session and with the control plane."""
        return sessions.get(it.switches[switch], 0), id(it.control_plane)

    def send(it: Controller, until: int | None) -> None:
        writes = of(it).writes
        while writes and (until is None or writes[0][0] <= until):
            _, write, began = writes.popleft()
            if began == session(it, write.switch):
                act(it, write)

    def at_switch(it: Controller, action: base.SwitchAction) -> None:
        nonlocal overtaken
        now = it.simulation.now()
        if isinstance(action, base.TableWrite):
            of(it).hold(now, action, session(it, action.switch))
            send(it, now)
            return
        if isinstance(action, base.SendFrame):
            overtaken += len(of(it).writes) > 0
        else:
            send(it, None)  # reads and resets wait for all writes, live as well
        act(it, action)

    def on_timer(it: Controller, now: int) -> None:
        send(it, now)
        timer(it, now)

    def on_end(it: SwitchControl, *, requests: bool) -> None:
        sessions[it] = sessions.get(it, 0) + 1
        end_session(it, requests=requests)

    monkeypatch.setattr(Controller, "_at_switch", at_switch)
    # The engine would send frames and writes by itself.
    monkeypatch.setattr(
        SimRack, "_run_engine", lambda _, simulation, until, __: simulation.run(until)
    )
    monkeypatch.setattr(Controller, "timer", on_timer)
    monkeypatch.setattr(SwitchControl, "end_session", on_end)
    due = property(
        lambda it: base.earlier(vars(it)["deadline"], of(it).due),
        lambda it, deadline: vars(it).update(deadline=deadline),
    )
    monkeypatch.setattr(Controller, "deadline", due, raising=False)
    return lambda: overtaken


@pytest.mark.parametrize("scheme", CACHES)
def test_control_planes_wait_for_the_writes_that_their_frames_need(
    scheme: str, held_back: Callable[[], int]
) -> None:
    for seed in SEEDS:
        outcome = play(generate(scheme, seed))
        assert outcome.violations == (), f"seed {seed}"
    assert held_back() > 20


def test_a_control_plane_that_does_not_wait_is_found(
    held_back: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the answers of the switch: each write counts as carried out at once."""
    act = Controller._at_switch

    def at_once(it: Controller, action: Any) -> None:
        act(it, action)
        if isinstance(action, base.TableWrite):
            it._refused.append(base.TableWritten(action.write, ok=True, switch=action.switch))

    monkeypatch.setattr(Controller, "_at_switch", at_once)
    monkeypatch.setattr(Controller, "answered", lambda *_: None)
    monkeypatch.setattr(Controller, "written", lambda *_: None)
    outcomes = (play(generate(scheme, seed)) for scheme in CACHES for seed in SEEDS)
    assert any(outcome.violations for outcome in outcomes)
    assert held_back() > 0
