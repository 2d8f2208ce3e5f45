# ruff: noqa: ARG002 (fakes have the signatures of the real classes)
"""A live controller of several switches: independent sessions, switches that keep their state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from finsy.proto import p4i, p4r

from netkv.control import base
from netkv.live import cabling, connection, target
from netkv.live.channel import ControlChannel
from netkv.live.connection import _cookie
from netkv.live.controller import Controller
from netkv.model.hardware import TopologySpec
from netkv.model.topology import Topology
from netkv.p4rt.client import ControllerError
from netkv.p4rt.errors import Code
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.test_controller import Client, Switch, settle
from tests.waiting import PATIENCE_S, until_async

EDGE, LEAF = "edge-0", "leaf-0"


class Script(base.NetworkControlPlane):
    """Records all events and emits the actions that a test sets."""

    keeps_switches = True

    def __init__(self) -> None:
        self.events: list[base.Event] = []
        self.respond: Callable[[base.Event], list[base.Action]] = lambda _: []

    def ready(self) -> bool:
        return bool(self.events)

    def switch_ready(self, switch: str) -> bool:
        return self.ready()

    def handle(self, now: int, event: base.Event) -> list[base.Action]:
        self.events.append(event)
        return self.respond(event)

    def about(self, switch: str) -> list[str]:
        """The kinds of events about a switch, in order."""
        return [type(it).__name__ for it in self.events if getattr(it, "switch", "") == switch]

    def on_started(self, now: int, saved: bytes | None) -> Iterator[base.Action]:
        return iter(())

    def on_switch_restarted(self, now: int, switch: str) -> Iterator[base.Action]:
        return iter(())

    def on_switch_lost(self, now: int, switch: str) -> Iterator[base.Action]:
        return iter(())

    def on_topology_changed(
        self, now: int, topology: Topology, switch: str
    ) -> Iterator[base.Action]:
        return iter(())


class Keeping(Client):
    """A client of one of several switches, which keep the cookie of their program."""

    switches: ClassVar[dict[str, Switch]]
    cookies: ClassVar[dict[str, int]]

    def __init__(self, address: str, **options: Any) -> None:
        self.address = address
        self.switch = self.switches[address]  # type: ignore[misc]
        super().__init__(address, **options)

    async def get_pipeline(self) -> p4r.ForwardingPipelineConfig:
        if self.address not in self.cookies:
            raise ControllerError(Code.FAILED_PRECONDITION, "no program")
        cookie = p4r.ForwardingPipelineConfig.Cookie(cookie=self.cookies[self.address])
        return p4r.ForwardingPipelineConfig(cookie=cookie)

    async def set_pipeline(self, bundle: bytes, info: p4i.P4Info | None, *, cookie: int) -> None:
        self.cookies[self.address] = cookie
        await super().set_pipeline(bundle, info, cookie=cookie)

    async def read(self, *entities: p4r.Entity) -> AsyncIterator[p4r.Entity]:
        raise ControllerError(Code.NOT_FOUND, "no such table")
        yield


class Running:
    """A controller of `edge-0` and `leaf-0`."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        topology = TopologySpec(kind="spine-leaf", layers=1, switches=1)
        spec = RackSpec(scheme="script", lab=LabSpec(servers=2, topology=topology))
        plugged = cabling.plug(spec).switches
        self.switches = {switch.name: Switch() for switch in plugged}
        Keeping.switches = {it.p4runtime: self.switches[it.name] for it in plugged}
        Keeping.cookies = {}
        self.addresses = {it.name: it.p4runtime for it in plugged}
        monkeypatch.setattr(connection, "P4RuntimeClient", Keeping)
        self.bundle = path / "bundle"
        self.bundle.write_text("program")
        self.script = Script()
        self.service: list[tuple[str, bool]] = []
        self.controller = Controller(
            self.script,
            {it.name: it for it in plugged},
            target.of(spec.lab, lambda _: self.bundle),
            channel=ControlChannel(),
            preload=[b"k" * 16],
            saved=path / "saved",
            on_note=lambda _: None,
            on_recovery=lambda _: None,
            on_failure=pytest.fail,
            on_service=lambda switch, up: self.service.append((switch, up)),
        )

    def keep(self, switch: str) -> None:
        """An earlier controller has loaded the program into the switch."""
        Keeping.cookies[self.addresses[switch]] = _cookie(b"program")

    async def __aenter__(self) -> Running:
        await self.controller.start()
        await self.controller.ready(PATIENCE_S)
        await self.until(EDGE, "SwitchRestarted", "SwitchFound")
        await self.until(LEAF, "SwitchRestarted", "SwitchFound")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.controller.stop()

    async def until(self, switch: str, *kinds: str) -> None:
        await until_async(
            lambda: any(kind in self.script.about(switch) for kind in kinds),
            f"{switch} has one of {kinds}",
        )
        await settle()


@pytest.fixture
def rack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    return Running(tmp_path, monkeypatch)


async def test_control_plane_starts_before_its_switches(rack: Running) -> None:
    async with rack:
        assert rack.script.events[:2] == [base.Started(), base.Preload((b"k" * 16,))]
        assert rack.script.about(EDGE) == rack.script.about(LEAF) == ["SwitchRestarted"]
        assert all(it.log == ["load program"] for it in rack.switches.values())


async def test_actions_go_to_their_switch(rack: Running) -> None:
    def respond(event: base.Event) -> list[base.Action]:
        match event:
            case base.SwitchRestarted(switch):
                clone = base.CloneSession(1, 7, 1, switch=switch)
                return [base.SendFrame(switch.encode(), switch=switch), clone]
            case _:
                return []

    rack.script.respond = respond
    async with rack:
        for name, switch in rack.switches.items():
            assert switch.log == ["load program", f"send {name}", "write clone-7"]


async def test_switch_that_runs_the_program_is_found(rack: Running) -> None:
    rack.keep(LEAF)
    async with rack:
        assert rack.script.about(LEAF) == ["SwitchFound"]
        assert rack.script.about(EDGE) == ["SwitchRestarted"]
        assert rack.switches[LEAF].log == [], "nothing is loaded"


async def test_switch_with_another_program_is_emptied(rack: Running) -> None:
    Keeping.cookies[rack.addresses[LEAF]] = _cookie(b"another program")
    async with rack:
        assert rack.script.about(LEAF) == ["SwitchRestarted"]


async def test_lost_switch_does_not_stop_the_others(rack: Running) -> None:
    async with rack:
        await rack.switches[LEAF].go_down()
        await rack.until(LEAF, "SwitchLost")
        assert rack.service == [(LEAF, False)]
        rack.script.respond = lambda event: (
            [base.SendFrame(b"leaf", switch=LEAF), base.SendFrame(b"edge", switch=EDGE)]
            if isinstance(event, base.PacketIn)
            else []
        )
        edge = rack.switches[EDGE]
        edge.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"frame"))
        await until_async(lambda: edge.log[-1] == "send edge", "the edge gets its frame")
        rack.switches[LEAF].down = False
        await rack.until(LEAF, "SwitchFound")
        assert rack.script.about(LEAF) == ["SwitchRestarted", "SwitchLost", "SwitchFound"]
        assert rack.switches[LEAF].log == ["load program"], "the frame for it was lost"
        assert rack.service == [(LEAF, False), (LEAF, True)]


async def test_switch_of_another_client_is_emptied_afterwards(rack: Running) -> None:
    """The other client may have changed anything."""
    async with rack:
        leaf = rack.switches[LEAF]
        leaf.take_over(noticed=True)
        state = rack.controller.connections[LEAF].arbitration
        await until_async(lambda: state.to_json()["state"] == "backup", "the controller yields")
        leaf.taken = False
        await until_async(lambda: rack.script.about(LEAF).count("SwitchRestarted") == 2, "again")
        assert leaf.log == ["load program"] * 2


async def test_actions_about_lost_state_do_not_reach_the_switch(rack: Running) -> None:
    """They were decided before the control plane knew of the restart."""
    stale, current = 0, 0
    found = base.SwitchFound(LEAF)

    def respond(event: base.Event) -> list[base.Action]:
        nonlocal stale, current
        if not isinstance(event, base.TopologyChanged):
            return []
        if found in rack.script.events:
            current += 1
        else:
            stale += rack.controller.connections[LEAF].in_session
        return [base.CloneSession(1, 7, 1, switch=LEAF)]

    async with rack:
        leaf = rack.switches[LEAF]
        rack.script.respond = respond
        await leaf.go_down()
        leaf.down = False
        # So many events wait that some are handled after the session has begun, but before the
        # event that opens it.
        late = base.TopologyChanged(Topology.of_ports([1], [2]), EDGE)
        while found not in rack.script.events:
            while len(rack.controller._events) < 100:
                rack.controller._events.put(late)
            await asyncio.sleep(0)
        await until_async(lambda: not len(rack.controller._events), "all events are handled")
        await settle()
        writes = [line.split()[1:] for line in leaf.log if line.startswith("write")]
        assert stale > 0
        assert sum(map(len, writes)) == current


async def test_reset_switch_is_empty_and_drops_earlier_actions(rack: Running) -> None:
    def respond(event: base.Event) -> list[base.Action]:
        if event == base.PacketIn(7, b"reset", LEAF):
            reset = base.ResetSwitch(LEAF)
            return [base.CloneSession(1, 7, 1, switch=LEAF), reset, base.SendFrame(b"x", 0, LEAF)]
        return []

    async with rack:
        rack.script.respond = respond
        leaf = rack.switches[LEAF]
        leaf.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"reset"))
        await until_async(lambda: rack.script.about(LEAF).count("SwitchRestarted") == 2, "again")
        assert leaf.log == ["load program"] * 2


async def test_refused_read_is_answered_with_the_reason(
    rack: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netkv.p4rt.updates.reads", lambda *_: ())
    rack.script.respond = lambda event: (
        [base.ReadTable(5, "a", LEAF)] if event == base.SwitchRestarted(LEAF) else []
    )
    async with rack:
        await until_async(
            lambda: any(isinstance(it, base.TableRead) for it in rack.script.events), "an answer"
        )
        (answer,) = [it for it in rack.script.events if isinstance(it, base.TableRead)]
        assert answer.read == 5
        assert "no such table" in answer.error
