# ruff: noqa: ARG001, ARG002 (fakes have the signatures of the real classes)
"""The driver of control planes: order of actions, sessions with the switch, saves.

`Switch` and `Client` replace the switch and the P4Runtime client; `Script` is a control plane
whose actions a test sets.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from finsy.proto import p4i, p4r

from netkv.control import base
from netkv.errors import NetkvError
from netkv.live import backlog, cabling, connection, target
from netkv.live.channel import ControlChannel
from netkv.live.controller import Controller
from netkv.live.saving import SaveFile
from netkv.model.topology import Topology
from netkv.p4rt import updates as table_updates
from netkv.p4rt.client import ControllerError, NotPrimaryError
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.schema import Schema
from netkv.schemes.spec import LabSpec, RackSpec
from tests.waiting import PATIENCE_S, until_async


class Names:
    """Updates that have the name of the table in their metadata instead of its P4Info id."""

    def table_entry(self, table: str, *rest: object, **more: object) -> p4r.Entity:
        return p4r.Entity(table_entry=p4r.TableEntry(metadata=table.encode()))

    def default_entry(self, table: str, call: object) -> p4r.Entity:
        return self.table_entry(table)

    def packet_out(self, frame: bytes, metadata: object) -> p4r.PacketOut:
        return p4r.PacketOut(payload=frame)

    schema = Schema(
        p4i.P4Info(
            controller_packet_metadata=[
                p4i.ControllerPacketMetadata(
                    preamble=p4i.Preamble(id=1, name="packet_in"),
                    metadata=[
                        p4i.ControllerPacketMetadata.Metadata(
                            id=1, name="ingress_port", bitwidth=9
                        ),
                        p4i.ControllerPacketMetadata.Metadata(id=2, name="pad", bitwidth=7),
                    ],
                )
            ]
        )
    )

    def packet_metadata(self, packet: p4r.PacketIn) -> dict[str, int]:
        """A single packet is from port 7."""
        ports = [each.value for each in packet.metadata if each.metadata_id == 1]
        return {"ingress_port": int.from_bytes(ports[0]) if ports else 7}


class Encoder:
    """Serializes updates with these names."""

    def encode(self, write: base.TableWrite) -> bytes:
        update = table_updates.update(Names(), write)  # type: ignore[arg-type]
        return p4r.WriteRequest(updates=[update]).SerializeToString()


def label(update: p4r.Update) -> str:
    entity = update.entity
    session = entity.packet_replication_engine_entry.clone_session_entry
    name = entity.table_entry.metadata.decode() or f"clone-{session.session_id}"
    return name + ("*" if update.type == p4r.Update.MODIFY else "")


class Switch:
    """A switch that refuses writes to table `bad`, and does not answer those to `hang`. A test can
    break its streams."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.clients: list[Client] = []
        self.down = False
        self.refused = 0
        """Connections that were refused while it was down."""
        self.highest = 0
        """The highest election id so far."""
        self.taken = False
        """Another controller is primary."""
        self.answer = asyncio.Event()
        """Set when writes to the table `slow` are answered."""

    def take_over(self, *, noticed: bool) -> None:
        """Another controller becomes primary.

        If `noticed`, the stream of our controller ends at once; else its next write is refused.
        """
        self.highest, self.taken = self.highest + 10, True
        for client in self.clients if noticed else ():
            client.inbox.put_nowait(None)

    def break_streams(self) -> None:
        for client in self.clients:
            client.inbox.put_nowait(None)

    async def go_down(self) -> None:
        """Breaks the streams, and waits until the controller has tried to reconnect."""
        self.down, before = True, self.refused
        self.break_streams()
        await until_async(lambda: self.refused > before, "the controller tries to reconnect")


class Client:
    """The part of `P4RuntimeClient` that the controller uses."""

    switch: ClassVar[Switch]

    def __init__(
        self, address: str, *, device_id: int, election_id: int, offers_batches: bool
    ) -> None:
        self.names = Names()
        self.encoder = Encoder()
        self.takes_batches = False
        self.election_id = election_id
        self.dropped = 3
        self.inbox: asyncio.Queue[p4r.PacketIn | bytes | None] = asyncio.Queue()
        self.switch.clients.append(self)

    async def connect(self, timeout_s: float, on_backup: Callable[[NotPrimaryError], None]) -> None:
        if self.switch.down:
            self.switch.refused += 1
            raise ControllerError(Code.UNAVAILABLE, "nobody listens")
        if self.switch.taken:
            on_backup(NotPrimaryError(Code.ALREADY_EXISTS, "another is", self.switch.highest))
            await until_async(lambda: not self.switch.taken, "the other client disconnects")
        on_backup(NotPrimaryError(Code.NOT_FOUND, "nobody is", self.switch.highest))
        self.election_id = self.switch.highest = self.switch.highest + 1

    async def close(self) -> None:
        if self in self.switch.clients:
            self.switch.clients.remove(self)

    async def set_pipeline(self, bundle: bytes, info: p4i.P4Info | None, *, cookie: int) -> None:
        assert info is None
        self.switch.log.append(f"load {bundle.decode()}")

    async def write(self, updates: Sequence[bytes]) -> None:
        if self.switch.taken:
            raise ControllerError(Code.PERMISSION_DENIED, "only the primary may do this")
        request = p4r.WriteRequest.FromString(b"".join(updates))
        tables = [label(update) for update in request.updates]
        self.switch.log.append("write " + " ".join(tables))
        if "hang" in tables:
            await asyncio.Event().wait()
        if "slow" in tables:
            await self.switch.answer.wait()
        failed = {
            index: RpcError(Code.ALREADY_EXISTS, "there already")
            for index, table in enumerate(tables)
            if table == "bad"
        }
        if failed:
            raise ControllerError(Code.UNKNOWN, "some failed", failed)

    async def packet_out(self, packet: p4r.PacketOut) -> None:
        self.switch.log.append(f"send {packet.payload.decode()}")

    async def packet_lists(self) -> AsyncIterator[list[p4r.PacketIn | bytes]]:
        while (packet := await self.inbox.get()) is not None:
            yield [packet]
        if self.switch.taken:
            raise NotPrimaryError(Code.ALREADY_EXISTS, "another is", self.switch.highest)
        raise ControllerError(Code.UNAVAILABLE, "the stream broke")

    async def digests(self) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield None


class Script(base.SwitchControlPlane):
    """Records all events and emits the actions that a test sets."""

    def __init__(self) -> None:
        self.events: list[base.Event] = []
        self.at_start: list[base.Action] = []
        """Actions at the start of each session with the switch."""
        self.respond: Callable[[base.Event], list[base.Action]] = lambda _: []
        """Actions after any other event."""
        self.due: int | None = None
        """When the timer fires."""

    def tables(self) -> Iterator[base.TableWrite]:
        return iter(())

    def ready(self) -> bool:
        return bool(self.events)

    def deadline(self) -> int | None:
        return self.due

    def handle(self, now: int, event: base.Event) -> list[base.Action]:
        self.events.append(event)
        if isinstance(event, base.Timer):
            self.due = None
        if isinstance(event, base.Started | base.SwitchRestarted):
            return self.at_start
        return self.respond(event)

    async def restarted(self) -> None:
        """Waits for the second session with the switch and the actions at its start."""
        event = base.SwitchRestarted()
        await until_async(lambda: event in self.events, "the restart of the switch is an event")
        await settle()
        assert self.events.count(event) == 1


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    made = Switch()
    Client.switch = made
    monkeypatch.setattr(connection, "P4RuntimeClient", Client)
    return made


@pytest.fixture
def script() -> Script:
    return Script()


class Running:
    """A controller that runs a script."""

    def __init__(self, script: Script, path: Path, preload: Sequence[bytes] = ()) -> None:
        spec = RackSpec(scheme="script", lab=LabSpec(servers=2))
        bundle = path / "bundle"
        bundle.write_text("program")
        engine = target.of(spec.lab, lambda _: bundle)
        self.notes: list[str] = []
        self.recovered: list[base.Recovering | base.Recovered] = []
        self.failures: list[str] = []
        self.service: list[bool] = []
        """Each change of whether the switch is in service."""
        self.saved = path / "saved"
        self.channel = ControlChannel()
        self.controller = Controller(
            script,
            {"": cabling.plug(spec).switches[0]},
            engine,
            channel=self.channel,
            preload=preload,
            saved=self.saved,
            on_note=self.notes.append,
            on_recovery=self.recovered.append,
            on_failure=self.failures.append,
            on_service=lambda _, in_service: self.service.append(in_service),
        )
        self.connection = self.controller.connections[""]

    async def __aenter__(self) -> Running:
        await self.controller.start()
        await self.controller.ready(PATIENCE_S)
        await settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.controller.stop()


async def settle() -> None:
    """Runs all tasks that wait for neither a timer nor a thread."""
    for _ in range(200):
        await asyncio.sleep(0)


def insert(write: int, table: str) -> base.InsertEntry:
    return base.InsertEntry(write, table, {"key": write}, "act", {})


async def test_writes_and_frames_keep_their_order_and_share_batches(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [
        insert(1, "a"),
        insert(2, "b"),
        base.SendFrame(b"x"),
        base.DeleteEntry(3, "a", {"key": 1}),
        base.SendFrame(b"y"),
        base.SendFrame(b"z"),
        base.SetDefault(4, "c", "act", {}),
        base.ModifyEntry(5, "d", {"key": 1}, "act", {}),
        base.CloneSession(6, 9, 510),
    ]
    async with Running(script, tmp_path):
        assert switch.log == [
            "load program",
            "write a b",
            "send x",
            "write a",
            "send y",
            "send z",
            "write c* d* clone-9",
        ]
    written = [event.write for event in script.events if isinstance(event, base.TableWritten)]
    assert written == [1, 2, 3, 4, 5, 6]


class LimitedScript(Script):
    """A script that has a limit of keys in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[int] = []

    def limit_in_flight(self, keys: int) -> None:
        assert not self.events, "before the first event"
        self.limits.append(keys)


@pytest.mark.parametrize("keys", [None, 200])
async def test_the_target_says_how_many_keys_may_be_in_flight(
    switch: Switch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int | None
) -> None:
    monkeypatch.setattr(target.EngineTarget, "keys_in_flight", keys)
    script = LimitedScript()
    async with Running(script, tmp_path):
        assert script.limits == ([] if keys is None else [keys])


async def test_frames_of_a_batch_become_events_with_their_ingress_port(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    async with Running(script, tmp_path):
        frames = [(port << 7).to_bytes(2) + b"payload" for port in (7, 9, 7)]
        for frame in frames:
            switch.clients[0].inbox.put_nowait(frame)
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"single"))
        await settle()
    packets = [event for event in script.events if isinstance(event, base.PacketIn)]
    assert packets == [
        base.PacketIn(7, b"payload"),
        base.PacketIn(9, b"payload"),
        base.PacketIn(7, b"payload"),
        base.PacketIn(7, b"single"),
    ]


async def test_each_refused_write_is_answered_with_its_own_error(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [insert(1, "a"), insert(2, "bad"), insert(3, "c")]
    async with Running(script, tmp_path) as running:
        answers = [event for event in script.events if isinstance(event, base.TableWritten)]
        assert [(a.write, a.ok) for a in answers] == [(1, True), (2, False), (3, True)]
        assert "there already" in answers[1].error
        assert running.failures == []


async def test_events_reach_the_control_plane(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    keys = [b"k" * 16]
    script.respond = lambda event: [base.Note("received", {"n": 1})] if event == expected else []
    expected = base.PacketIn(7, b"frame")
    async with Running(script, tmp_path, keys) as running:
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"frame"))
        script.due = 0
        await until_async(lambda: base.Timer() in script.events, "the timer fires")
        assert script.events[:2] == [base.Started(), base.Preload(tuple(keys))]
        assert expected in script.events
        assert base.Timer() in script.events
        assert running.notes == ["received (n 1)"]
        assert running.connection.bytes > 0


async def test_packets_that_have_arrived_precede_a_timer(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    """Otherwise a busy controller repeats messages whose replies it has got already."""
    frames = [bytes([number]) for number in range(100)]
    script.respond = lambda event: fall_due() if event == base.PacketIn(7, b"first") else []

    def fall_due() -> list[base.Action]:
        script.due = 0
        return []

    async with Running(script, tmp_path):
        inbox = switch.clients[0].inbox
        for frame in [b"first", *frames]:
            inbox.put_nowait(p4r.PacketIn(payload=frame))
        await until_async(lambda: base.Timer() in script.events, "the timer fires")
        before = script.events[: script.events.index(base.Timer())]
        assert [it.frame for it in before if isinstance(it, base.PacketIn)] == [b"first", *frames]


async def test_broken_stream_loads_the_program_and_emits_restarted(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [insert(1, "a")]
    async with Running(script, tmp_path, [b"k" * 16]) as running:
        await switch.go_down()
        assert base.SwitchRestarted() not in script.events, "the switch is still down"
        switch.down = False
        await script.restarted()
        assert switch.log == ["load program", "write a"] * 2
        assert script.events.count(base.Started()) == 1
        assert running.controller.statistics()["sessions"] == 2
        assert running.failures == []


async def test_switch_is_in_service_while_its_tables_are_installed(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = True
    monkeypatch.setattr(script, "ready", lambda: ready and bool(script.events))
    async with Running(script, tmp_path) as running:
        assert running.service == []
        ready = False
        await switch.go_down()
        assert running.service == [False], "the lost connection is enough"
        switch.down = False
        await script.restarted()
        assert running.service == [False], "the tables are not installed"
        ready = True
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"any event"))
        await until_async(lambda: running.service[1:], "the switch is in service again")
        assert running.service == [False, True]


async def test_switch_that_breaks_its_stream_is_out_of_service_until_it_is_set_up(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    async with Running(script, tmp_path) as running:
        switch.break_streams()
        await script.restarted()
        assert running.service == [False, True]


async def test_new_controller_notices_a_switch_that_does_not_answer(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "UNREACHABLE_AFTER", 0.01)
    answers = asyncio.Event()

    async def connect(self: Client, *_: object) -> None:
        await answers.wait()

    monkeypatch.setattr(Client, "connect", connect)
    running = Running(script, tmp_path)
    await running.controller.start()
    try:
        await until_async(lambda: running.service == [False], "the switch is out of service")
        answers.set()
        await until_async(lambda: running.service == [False, True], "it is in service again")
    finally:
        await running.controller.stop()


async def test_switch_of_another_client_stays_in_service(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers, so it does not count as unreachable, however soon that would be."""
    monkeypatch.setattr(connection, "UNREACHABLE_AFTER", 0)
    async with Running(script, tmp_path) as running:
        switch.take_over(noticed=True)
        state = running.connection.arbitration
        await until_async(lambda: state.to_json()["state"] == "backup", "the controller yields")
        await settle()
        assert running.service == []
        switch.taken = False
        await script.restarted()
        assert running.service == [False, True], "the program is loaded again"


async def test_changed_topology_reaches_this_session_and_the_next_ones(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    first, second = (Topology.of_ports([1], [2, port]) for port in (3, 4))
    async with Running(script, tmp_path) as running:
        running.controller.change("", first)
        await until_async(
            lambda: base.TopologyChanged(first) in script.events, "the first topology is an event"
        )
        await switch.go_down()
        running.controller.change("", second)
        await settle()
        assert base.TopologyChanged(second) not in script.events, "the switch is down"
        switch.down = False
        await script.restarted()
        start = script.events.index(base.SwitchRestarted())
        assert script.events[start + 1] == base.TopologyChanged(second)


@pytest.mark.parametrize("noticed", [True, False], ids=["stream ends", "write is refused"])
async def test_controller_yields_to_another_client_and_comes_back(
    switch: Switch, script: Script, tmp_path: Path, noticed: bool
) -> None:
    script.at_start = [insert(1, "a")]
    async with Running(script, tmp_path) as running:
        arbitration = running.connection.arbitration
        assert arbitration.to_json()["primary"]
        assert arbitration.to_json()["election_id"] == 1
        script.respond = lambda event: (
            [insert(2, "late")] if isinstance(event, base.PacketIn) else []
        )
        switch.take_over(noticed=noticed)
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"frame"))
        await until_async(
            lambda: arbitration.to_json()["state"] == "backup", "the controller yields"
        )
        await until_async(
            lambda: arbitration.to_json()["other_election_id"] == 11, "it knows the other's id"
        )
        await settle()
        assert switch.log == ["load program", "write a"], "a backup writes nothing"
        refused = [it for it in script.events if isinstance(it, base.TableWritten) and not it.ok]
        assert not refused, "a write of a session that ended is not answered"
        switch.taken = False
        await script.restarted()
        assert switch.log == ["load program", "write a"] * 2
        standing = arbitration.to_json()
        assert (standing["state"], standing["election_id"]) == ("primary", 12)
        assert running.failures == []
        yielded, back = running.notes
        assert yielded.startswith("Another P4Runtime client is primary")
        assert back.startswith("The controller is primary again (election id 12)")


async def test_restart_is_handled_before_a_due_timer(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    async with Running(script, tmp_path):
        await switch.go_down()
        script.events.clear()
        script.due = 0
        switch.down = False
        await until_async(lambda: base.Timer() in script.events, "the timer fires")
        assert script.events == [base.SwitchRestarted(), base.Timer()]


async def test_writes_of_an_ended_session_are_never_answered(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [insert(1, "hang"), base.SendFrame(b"old"), insert(2, "late")]
    async with Running(script, tmp_path):
        script.at_start = []
        switch.break_streams()
        await script.restarted()
        assert not [event for event in script.events if isinstance(event, base.TableWritten)]
        assert "write late" not in switch.log


async def test_writes_that_wait_for_an_answer_do_not_delay_frames(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    """They go into one request, however many frames were between them."""
    script.at_start = [
        insert(1, "slow"),
        *(base.SendFrame(b"x"), insert(2, "b"), base.SendFrame(b"y"), insert(3, "c")),
    ]
    async with Running(script, tmp_path):
        begun = ["load program", "write slow", "send x", "send y"]
        assert switch.log == begun
        switch.answer.set()
        await until_async(lambda: len(switch.log) > len(begun), "the next request is sent")
        assert switch.log == [*begun, "write b c"]


async def test_exception_of_a_control_plane_is_reported(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    def fail(_: base.Event) -> list[base.Action]:
        raise ZeroDivisionError("of the test")

    script.respond = fail
    running = Running(script, tmp_path)
    await running.controller.start()
    await running.controller.ready(PATIENCE_S)
    switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"frame"))
    await until_async(lambda: bool(running.failures), "the failure is reported")
    assert "of the test" in running.failures[0]
    with pytest.raises(ZeroDivisionError):
        await running.controller.stop()


async def cut_then_timer(switch: Switch, script: Script, running: Running) -> None:
    """Cuts the channel, with a timer that is due immediately afterwards."""
    respond = script.respond

    def cut(event: base.Event) -> list[base.Action]:
        if isinstance(event, base.PacketIn):
            running.channel.cut()
            script.due = 0
        return respond(event)

    script.respond = cut
    switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"cut"))
    await until_async(lambda: script.events[-1] == base.Timer(), "the timer fires")
    await settle()
    script.respond = respond


async def test_cut_channel_stalls_table_writes_until_it_is_healed(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.respond = lambda event: [insert(5, "a")] if isinstance(event, base.Timer) else []
    async with Running(script, tmp_path) as running:
        await cut_then_timer(switch, script, running)
        assert switch.log == ["load program"]
        running.channel.heal()
        await settle()
        assert switch.log == ["load program", "write a"]
        assert script.events[-1] == base.TableWritten(5, ok=True)


async def test_cut_channel_drops_packets_in_both_directions(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    # The frame waits behind a stalled write. It is lost, as it was sent during the cut.
    actions: list[base.Action] = [insert(1, "a"), base.SendFrame(b"lost")]
    script.respond = lambda event: actions if isinstance(event, base.Timer) else []
    async with Running(script, tmp_path) as running:
        await cut_then_timer(switch, script, running)
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"lost"))
        await settle()
        running.channel.heal()
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"received"))
        await settle()
        packets = [event.frame for event in script.events if isinstance(event, base.PacketIn)]
        assert packets == [b"cut", b"received"]
        assert switch.log == ["load program", "write a"]
        assert running.channel.lost == 2


async def test_switch_restarted_during_a_cut_is_set_up_after_it(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [insert(1, "a")]
    async with Running(script, tmp_path) as running:
        running.channel.cut()
        switch.break_streams()
        await settle()
        assert base.SwitchRestarted() not in script.events
        running.channel.heal()
        await script.restarted()
        assert switch.log == ["load program", "write a"] * 2


def saves(script: Script) -> list[base.Saved]:
    return [event for event in script.events if isinstance(event, base.Saved)]


async def test_saves_and_actions_of_a_switch_do_not_wait_for_each_other(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    script.at_start = [
        base.SendFrame(b"x"),
        base.Save(1, b"one"),
        insert(1, "hang"),
        base.Save(2, b"two"),
    ]
    async with Running(script, tmp_path) as running:
        await until_async(lambda: len(saves(script)) == 2, "both saves are answered")
        assert switch.log == ["load program", "send x", "write hang"]
        assert saves(script) == [base.Saved(1, ok=True), base.Saved(2, ok=True)]
        assert running.saved.read_bytes() == b"two"


async def test_save_is_answered_in_the_next_session(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), SaveFile.write

    def slow(self: SaveFile, data: bytes) -> bool:
        assert go_on.wait(PATIENCE_S)
        return real(self, data)

    monkeypatch.setattr(SaveFile, "write", slow)
    script.at_start = [base.Save(7, b"kept")]
    async with Running(script, tmp_path) as running:
        script.at_start = []
        await switch.go_down()
        go_on.set()
        await until_async(running.saved.exists, "the save of the ended session is written")
        await settle()
        assert running.saved.read_bytes() == b"kept"
        assert saves(script) == []
        switch.down = False
        await until_async(lambda: bool(saves(script)), "the save is answered")
        assert script.events[-2:] == [base.SwitchRestarted(), base.Saved(7, ok=True)]


async def test_failed_save_is_answered_with_its_reason(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    running = Running(script, tmp_path)
    script.respond = lambda event: [base.Save(3, b"x")] if isinstance(event, base.PacketIn) else []
    async with running:
        running.saved.mkdir()
        (running.saved / "file").touch()
        switch.clients[0].inbox.put_nowait(p4r.PacketIn(payload=b"now"))
        await until_async(lambda: bool(saves(script)), "the save is answered")
        (answer,) = saves(script)
        assert not answer.ok
        assert "could not be saved" in answer.error
        assert running.controller.running


async def test_controller_does_not_start_with_an_unreadable_save(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    running = Running(script, tmp_path)
    running.saved.mkdir()
    await running.controller.start()
    await until_async(lambda: bool(running.failures), "the failure is reported")
    assert "cannot be read" in running.failures[0]
    assert switch.log == []
    with pytest.raises(NetkvError, match="cannot be read"):
        await running.controller.stop()


async def test_next_controller_finds_completed_saves_only(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.at_start = [base.Save(1, b"first")]
    async with Running(script, tmp_path):
        assert script.events[0] == base.Started(None)
        await until_async(lambda: bool(saves(script)), "the save is answered")
    go_on, ended = threading.Event(), threading.Event()
    real = SaveFile.write

    def slow(self: SaveFile, data: bytes) -> bool:
        try:
            assert go_on.wait(PATIENCE_S)
            return real(self, data)
        finally:
            ended.set()

    with monkeypatch.context() as patched:
        patched.setattr(SaveFile, "write", slow)
        killed = Script()
        killed.at_start = [base.Save(2, b"never")]
        async with Running(killed, tmp_path):
            assert killed.events[0] == base.Started(b"first")
        go_on.set()
        assert await asyncio.to_thread(ended.wait, PATIENCE_S)
    following = Script()
    async with Running(following, tmp_path):
        assert following.events[0] == base.Started(b"first")


async def test_recoveries_are_emitted_with_their_phases(
    switch: Switch, script: Script, tmp_path: Path
) -> None:
    recovered = base.Recovered((("collect", 0.25), ("restore", 0.5)), {"records": 12})
    script.at_start = [base.Recovering(), recovered]
    async with Running(script, tmp_path) as running:
        assert running.recovered == [base.Recovering(), recovered]
    assert recovered.describe() == "recovered in 0.75 s: collect 0.25 s, restore 0.5 s (records 12)"


async def test_drops_of_a_controller_are_counted_over_all_sessions(
    switch: Switch, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "MAX_FRAMES", 2)
    monkeypatch.setattr(base, "MAX_WRITES", 1)
    frames = [base.SendFrame(str(number).encode()) for number in range(5)]
    script.at_start = [insert(1, "a"), insert(2, "b"), *frames]
    async with Running(script, tmp_path) as running:
        answers = [event for event in script.events if isinstance(event, base.TableWritten)]
        assert [(answer.write, answer.ok) for answer in sorted(answers, key=lambda a: a.write)] == [
            (1, True),
            (2, False),
        ]
        assert switch.log == ["load program", "write a", "send 0", "send 1"]
        assert running.controller.dropped() == {"frames_dropped": 3}
        switch.break_streams()
        await script.restarted()
        dropped = running.controller.dropped()
        assert dropped["events_dropped"] == 3, "`Client.dropped` of the first session"
