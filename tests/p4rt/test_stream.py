"""The stream: packets, digests, arbitration, and the limits of its queue."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

import finsy as fy
import pytest
from finsy.proto import U128, p4r

from netkv import _engine
from netkv.model.messages import Message, Op, Stamp, encode
from netkv.p4rt import batches, stream
from netkv.p4rt import server as server_module
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Names, insert, modify
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.mailbox import RESERVE, Mailbox
from netkv.p4rt.server import P4RuntimeServer
from netkv.p4rt.stream import OUTBOX_LIMIT, REPORTS_LIMIT
from tests.p4rt.conftest import Rack, probe
from tests.waiting import PATIENCE_S, until_async

T = TypeVar("T")

PACKET_IN = bytes([0x00, 0x80 | 0x05, 0x12, 0x34])  # ingress_port 1, _pad 5, reason 0x1234


@dataclass
class CpuPort:
    """A CPU port in memory: `waiting` is its input, `sent` its output."""

    sent: list[bytes] = field(default_factory=list)
    waiting: queue.Queue[tuple[list[bytes], list[tuple[int, list[bytes]]]]] = field(
        default_factory=queue.Queue
    )

    def packet_out(self, frame: bytes) -> None:
        self.sent.append(frame)

    def wait(self, timeout_s: float) -> tuple[list[bytes], list[tuple[int, list[bytes]]]]:
        try:
            return self.waiting.get(timeout=timeout_s)
        except queue.Empty:
            return [], []


@pytest.fixture
def cpu() -> CpuPort:
    return CpuPort()


@pytest.fixture
async def cpu_server(
    switch: _engine.Switch, bundle: bytes, cpu: CpuPort
) -> AsyncIterator[P4RuntimeServer]:
    server = P4RuntimeServer(switch, cpu, bundle=bundle)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def primary(cpu_server: P4RuntimeServer) -> AsyncIterator[P4RuntimeClient]:
    async with P4RuntimeClient(cpu_server.address, election_id=5) as client:
        await client.get_pipeline()
        yield client


async def in_time(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, PATIENCE_S)


async def test_the_header_of_a_packet_in_becomes_metadata(
    primary: P4RuntimeClient, cpu: CpuPort
) -> None:
    cpu.waiting.put(([PACKET_IN + b"payload"], []))
    packet = await in_time(anext(primary.packets()))
    assert packet.payload == b"payload"
    assert primary.names.packet_metadata(packet) == {
        "ingress_port": 1,
        "_pad": 5,
        "reason": 0x1234,
    }


async def test_a_packet_out_becomes_a_frame_with_its_header(
    primary: P4RuntimeClient, cpu: CpuPort
) -> None:
    await primary.packet_out(primary.names.packet_out(b"payload", {"egress_port": 511}))
    await until_async(lambda: bool(cpu.sent), "the frame is sent")
    assert cpu.sent == [b"\xff\x80payload"]


async def test_wrong_packet_out_is_refused_and_the_stream_stays_open(
    primary: P4RuntimeClient, cpu: CpuPort, caplog: pytest.LogCaptureFixture
) -> None:
    bad = p4r.PacketMetadata(metadata_id=1, value=b"\2\0")
    await primary.packet_out(p4r.PacketOut(payload=b"x", metadata=[bad]))
    await primary.packet_out(p4r.PacketOut(payload=b"x"))
    await until_async(lambda: primary.refused == 2, "both are refused")
    assert "metadata egress_port is 9 bits wide, and 0x200 does not fit" in caplog.text
    assert "metadata egress_port (1) is missing" in caplog.text
    assert cpu.sent == []
    cpu.waiting.put(([PACKET_IN], []))
    assert (await in_time(anext(primary.packets()))).payload == b""


@pytest.fixture
async def batching(cpu_server: P4RuntimeServer) -> AsyncIterator[P4RuntimeClient]:
    """A primary that has agreed with the switch on batches of packets."""
    async with P4RuntimeClient(cpu_server.address, election_id=7, offers_batches=True) as client:
        await client.get_pipeline()
        await until_async(lambda: client.takes_batches, "the switch takes batches")
        yield client


async def test_a_batch_has_the_effect_of_its_packets(
    batching: P4RuntimeClient, cpu: CpuPort
) -> None:
    frames = [(number << 7).to_bytes(2) + b"payload" * number for number in range(300)]
    await batching.send_batch(frames)
    await until_async(lambda: len(cpu.sent) == len(frames), "the batch is sent")
    assert cpu.sent == frames
    cpu.waiting.put(([PACKET_IN + bytes([number]) for number in range(200)], []))
    packets = [await in_time(anext(batching.packets())) for _ in range(200)]
    assert [packet.payload[0] for packet in packets] == list(range(200))
    metadata = {"ingress_port": 1, "_pad": 5, "reason": 0x1234}
    assert all(batching.names.packet_metadata(packet) == metadata for packet in packets)


async def test_packets_that_wait_are_taken_together_and_in_order(
    batching: P4RuntimeClient, cpu: CpuPort
) -> None:
    frames = [PACKET_IN + bytes([number]) for number in range(200)]
    cpu.waiting.put((frames, []))
    taken: list[p4r.PacketIn | bytes] = []
    lists = batching.packet_lists()
    while len(taken) < len(frames):
        taken += await in_time(anext(lists))
    assert [packet if isinstance(packet, bytes) else None for packet in taken] == frames


async def test_packet_ins_of_a_batching_client_share_messages(cpu_server: P4RuntimeServer) -> None:
    streams = cpu_server.streams
    session = streams.open()
    claim = p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(9))
    streams.on_request(session, p4r.StreamMessageRequest(arbitration=claim))
    streams.on_request(session, p4r.StreamMessageRequest(other=batches.pack(())))
    frames = [PACKET_IN + bytes([number]) for number in range(10)]
    streams.on_packets([*frames, b"short"[:1]])
    received = [await in_time(session.next_message()) for _ in range(3)]
    assert [it and it.WhichOneof("update") for it in received] == ["arbitration", "other", "other"]
    assert [it and batches.unpack(it.other) for it in received[1:]] == [[], frames]
    assert len(session.outbox) == 0


async def test_a_switch_may_refuse_batches(
    cpu_server: P4RuntimeServer, cpu: CpuPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "batches", stream)
    monkeypatch.setattr(stream, "unpack", lambda _: None, raising=False)
    async with P4RuntimeClient(cpu_server.address, offers_batches=True) as client:
        await client.get_pipeline()
        packet = client.names.packet_out(b"x", {"egress_port": 1})
        await client.packet_out(packet)
        await until_async(lambda: len(cpu.sent) == 1, "the packet is sent, after the offer")
        assert not client.takes_batches
        assert client.refused == 0


@pytest.mark.parametrize(
    ("frames", "error"),
    [([b"\0\1x", b"\0"], "shorter than its header of 2 bytes"), (None, "must be")],
)
async def test_a_wrong_batch_is_refused_as_a_whole(
    batching: P4RuntimeClient,
    cpu: CpuPort,
    caplog: pytest.LogCaptureFixture,
    frames: list[bytes] | None,
    error: str,
) -> None:
    batch = batches.pack(frames or [b"\0\1x"])
    if frames is None:
        batch.value = batch.value[:-1]
    await batching._send(p4r.StreamMessageRequest(other=batch))
    await until_async(lambda: batching.refused == 1, "the batch is refused")
    assert error in caplog.text
    assert cpu.sent == []


async def test_only_the_primary_sends_batches(cpu_server: P4RuntimeServer, cpu: CpuPort) -> None:
    request = p4r.StreamMessageRequest(other=batches.pack([b"\0\1x"]))
    session = cpu_server.streams.open()
    cpu_server.streams.on_request(session, request)
    reply = await in_time(session.next_message())
    assert reply is not None
    assert "only the primary controller may send packets" in reply.error.message
    assert reply.error.other.other == request.other
    assert cpu.sent == []


async def test_packets_go_to_the_current_primary(
    primary: P4RuntimeClient, cpu_server: P4RuntimeServer, cpu: CpuPort
) -> None:
    waiting = asyncio.ensure_future(anext(primary.packets()))
    async with P4RuntimeClient(cpu_server.address, election_id=6) as successor:
        with pytest.raises(ControllerError, match="the highest election id there is 6") as caught:
            await in_time(waiting)
        assert caught.value.code is Code.ALREADY_EXISTS
        cpu.waiting.put(([PACKET_IN + b"for the successor"], []))
        assert (await in_time(anext(successor.packets()))).payload == b"for the successor"
        with pytest.raises(ControllerError, match="only the primary controller"):
            await primary.write([insert(primary.names.digest("hot_t"))])


async def test_refused_primary_gets_the_reason(
    primary: P4RuntimeClient, cpu_server: P4RuntimeServer
) -> None:
    del primary
    with pytest.raises(ControllerError, match="the highest election id there is 5") as caught:
        await P4RuntimeClient(cpu_server.address, election_id=4).connect()
    assert caught.value.code is Code.ALREADY_EXISTS
    with pytest.raises(ControllerError, match="election id 5 is used by another") as caught:
        await P4RuntimeClient(cpu_server.address, election_id=5).connect()
    assert caught.value.code is Code.INVALID_ARGUMENT


async def test_finsy_takes_over_when_the_primary_goes_away(
    cpu_server: P4RuntimeServer, finsy_options: fy.SwitchOptions, cpu: CpuPort
) -> None:
    async with fy.Switch("second", cpu_server.address, finsy_options) as second:
        async with fy.Switch(
            "first", cpu_server.address, finsy_options(initial_election_id=20)
        ) as first:
            await until_async(
                lambda: first.is_primary and not second.is_primary, "the first is primary"
            )
            with pytest.raises(fy.P4ClientError, match="only the primary controller"):
                await second.insert([fy.P4DigestEntry("hot_t")])
        await until_async(lambda: second.is_primary, "the second is primary")
        packets = second.read_packets()
        arriving = asyncio.ensure_future(anext(packets))
        await asyncio.sleep(0)  # the task waits for a packet
        cpu.waiting.put(([PACKET_IN + b"x"], []))
        assert (await in_time(arriving)).payload == b"x"


async def test_queue_of_a_stream_that_is_not_read_is_bounded() -> None:
    mailbox: Mailbox[int] = Mailbox(2)
    assert [mailbox.offer(number) for number in range(3)] == [True, True, False]
    mailbox.put(9)  # put() may exceed the limit of offer()
    mailbox.close()
    assert [await mailbox.get() for _ in range(4)] == [0, 1, 9, None]


async def test_stream_ends_when_its_reliable_queue_is_full() -> None:
    mailbox: Mailbox[int] = Mailbox(2)
    for number in range(2 + RESERVE + 5):
        mailbox.put(number)
    assert len(mailbox) == 2 + RESERVE
    assert [await mailbox.get() for _ in range(2 + RESERVE)] == list(range(2 + RESERVE))
    with pytest.raises(RpcError, match="the stream is not read"):
        await mailbox.get()


async def test_concurrent_calls_are_limited(
    monkeypatch: pytest.MonkeyPatch, switch: _engine.Switch, bundle: bytes
) -> None:
    monkeypatch.setattr(server_module, "MAX_RPCS", 2)
    server = P4RuntimeServer(switch, bundle=bundle)
    await server.start()
    try:
        async with (
            P4RuntimeClient(server.address, election_id=1),
            P4RuntimeClient(server.address, election_id=2) as second,
        ):
            with pytest.raises(ControllerError) as refused:
                await second.get_pipeline()
            assert refused.value.code is Code.RESOURCE_EXHAUSTED
    finally:
        await server.stop()


async def test_digests_leave_room_for_answers_in_a_slow_stream(
    switch: _engine.Switch, bundle: bytes, cpu: CpuPort
) -> None:
    server = P4RuntimeServer(switch, cpu, bundle=bundle)
    streams = server.streams
    session = streams.open()
    update = p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(1))
    streams.on_request(session, p4r.StreamMessageRequest(arbitration=update))
    offer = PACKET_IN + encode(Message(Op.OFFER, b"k" * 16, 1, stamp=Stamp()))
    streams.on_packets([offer] * (REPORTS_LIMIT + 50))
    assert len(session.outbox) == REPORTS_LIMIT, "the arbitration is one of them"
    streams.on_packets([PACKET_IN + b"answer"] * OUTBOX_LIMIT)
    assert len(session.outbox) == OUTBOX_LIMIT
    counts = server.statistics()
    assert counts["outbox_report_drops"] == 51
    assert counts["outbox_drops"] == REPORTS_LIMIT


async def test_frames_too_short_for_their_header_are_counted(
    primary: P4RuntimeClient, cpu_server: P4RuntimeServer, cpu: CpuPort
) -> None:
    cpu.waiting.put(([b"", b"\0", PACKET_IN], []))
    assert (await in_time(anext(primary.packets()))).payload == b""
    assert cpu_server.statistics()["packet_ins_dropped"] == 2


async def test_digests_are_sent_if_configured_and_acknowledged(
    primary: P4RuntimeClient, cpu_server: P4RuntimeServer, cpu: CpuPort
) -> None:
    digest = primary.names.schema.digests.named("hot_t").id
    hot = (digest, [b"\x0a\0\0\1", b"\7"])
    cpu.waiting.put(([], [hot]))
    await until_async(
        lambda: cpu_server.statistics().get("digests_dropped") == 1, "the digest is dropped"
    )
    config = primary.names.digest("hot_t", ack_timeout_ns=60_000_000_000)
    await primary.write([insert(config)])
    cpu.waiting.put(([], [hot]))
    digests = primary.digests()
    first = await in_time(anext(digests))
    assert primary.names.digest_members(first) == [{"ip": 0x0A000001, "tag": 7}]
    cpu.waiting.put(([], [hot, (digest, [b"\1", b"\2"])]))
    second = await in_time(anext(digests))
    assert primary.names.digest_members(second) == [{"ip": 1, "tag": 2}]
    assert second.list_id == first.list_id + 1
    await primary.acknowledge(first)
    await primary.packet_out(p4r.PacketOut(payload=b"x"))
    # The acknowledgement, which was sent before, has arrived then.
    await until_async(lambda: primary.refused == 1, "the wrong packet is refused")
    cpu.waiting.put(([], [hot]))
    assert primary.names.digest_members(await in_time(anext(digests))) == [
        {"ip": 0x0A000001, "tag": 7}
    ]


async def test_digests_are_batched_by_size_and_time(primary: P4RuntimeClient, cpu: CpuPort) -> None:
    digest = primary.names.schema.digests.named("hot_t").id
    config = primary.names.digest("hot_t", max_list_size=2, max_timeout_ns=50_000_000)
    await primary.write([insert(config)])
    cpu.waiting.put(([], [(digest, [b"\1", bytes([tag])]) for tag in range(3)]))
    digests = primary.digests()
    assert len((await in_time(anext(digests))).data) == 2
    assert len((await in_time(anext(digests))).data) == 1
    # The controller changes the configuration.
    await primary.write([modify(primary.names.digest("hot_t", max_list_size=1))])
    cpu.waiting.put(([], [(digest, [b"\1", b"\1"])]))
    assert len((await in_time(anext(digests))).data) == 1


async def test_a_stopped_server_ends_iterators_with_a_reason(
    primary: P4RuntimeClient, cpu_server: P4RuntimeServer
) -> None:
    waiting = asyncio.ensure_future(anext(primary.packets()))
    await asyncio.sleep(0)  # the task waits for a packet
    await cpu_server.stop()
    with pytest.raises(ControllerError, match="shutting down") as caught:
        await in_time(waiting)
    assert caught.value.disconnected
    with pytest.raises(ControllerError) as caught:
        await primary.get_pipeline()
    assert caught.value.disconnected


async def test_missing_server_is_reported_within_the_timeout() -> None:
    with pytest.raises(ControllerError, match=r"no P4Runtime server answers at 127\.0\.0\.1:9"):
        await P4RuntimeClient("127.0.0.1:9").connect(0.3)


async def test_ten_thousand_entries_are_written_in_one_call(primary: P4RuntimeClient) -> None:
    names: Names = primary.names
    updates = [
        insert(
            names.table_entry(
                "exact_table",
                {"h.probe.ip": ip, "h.probe.tag": ip & 0xFF},
                Call("set_result", {"result": ip & 0xFFFF}),
            )
        )
        for ip in range(10_000)
    ]
    await primary.write(updates)
    found = [each async for each in primary.read(names.table_entries("exact_table"))]
    assert len(found) == 10_000
    with pytest.raises(ControllerError, match="10000 of 10000 updates failed") as caught:
        await primary.write(updates)
    assert caught.value.code is Code.ALREADY_EXISTS
    assert 9_000 in caught.value.failed


async def test_packets_and_digests_of_a_running_switch_reach_finsy(
    rack: Rack, finsy_options: fy.SwitchOptions
) -> None:
    async with fy.Switch("sw", rack.server.address, finsy_options) as controller:
        packets, digests = controller.read_packets(), controller.read_digests("hot_t")
        await controller.insert([fy.P4DigestEntry("hot_t")])
        rack.send(1, probe(op=4))
        packet = await in_time(anext(packets))
        assert packet.metadata["ingress_port"] == 1
        assert packet.metadata["reason"] == 4
        assert packet.payload == probe(op=4)
        rack.send(2, probe(op=2, ip=0x0A000001, tag=7))
        digest = await in_time(anext(digests))
        assert digest.data == [{"ip": 0x0A000001, "tag": 7}]
        await controller.write([fy.P4PacketOut(b"x" * 60, egress_port=2, _pad=0)])
        assert await asyncio.to_thread(rack.receive, 2) == b"x" * 60
