"""The classifier gives LaKe the frames it can read, and reports those it cannot."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
from streams import Bench, Frame, Sink, Source, random_frame, valid_without_ready

TOP = "packet_classifier"
PARAMETERS = [{"BYTES": 32, "WINDOW_LOG2": 8}, {"BYTES": 64, "WINDOW_LOG2": 8}]

NORMAL, QUERY, RESPONSE, OPAQUE = range(4)
OFF, ON, ADAPTIVE = range(3)
HOST = 16
PORT = frames.MEMCACHED_PORT
OTHER = 11212


class Lab:
    """The classifier with its settings, its streams, and a count of the pulses."""

    def __init__(self, dut: Any, *, mode: int = ON, pace: float | None = None) -> None:
        self.dut, self.bench, self.pulses = dut, Bench(dut), 0
        self.corrupt_pulses = 0
        self.words = 0  # that have left
        self.verdicts: list[bool] = []  # of the frames that have left
        self.width = len(dut.s_data) // 8
        self.source = Source(self.bench, width=self.width, pace=pace)
        self.sink = Sink(self.bench, width=self.width, pace=pace, beside=["m_kind"])
        self.bench.drivers.append(self)
        dut.mode.value = mode
        dut.memcached_port.value = PORT
        dut.server_ports.value = HOST
        dut.threshold_on.value = 20
        dut.threshold_off.value = 10

    async def start(self) -> None:
        await self.bench.start()
        await self.bench.step(5)
        self.pulses = 0

    def sample(self) -> None:
        dut = self.dut
        self.pulses += int(dut.foreign_write.value)
        self.corrupt_pulses += int(dut.corrupt_frame.value)
        self.words += int(dut.m_valid.value and dut.m_ready.value)
        if dut.m_valid.value and dut.m_ready.value and dut.m_last.value:
            self.verdicts.append(bool(dut.m_corrupt.value))

    def drive(self) -> None: ...

    def reset(self) -> None:
        self.pulses = 0

    async def pass_frames(self, sent: list[Frame]) -> list[int]:
        """The kinds of these frames, which must arrive unchanged."""
        self.sink.frames[0].clear()
        for frame in sent:
            self.source.send(frame)
        await self.bench.until(lambda: self.sink.count == len(sent), 400 * len(sent))
        await self.bench.step(3)
        assert self.sink.frames[0] == sent
        return [frame.beside["m_kind"] for frame in self.sink.frames[0]]


def packets(payload: bytes) -> list[tuple[str, int, int, bytes]]:
    """Name, kind from a network port, kind from the host port, bytes."""
    query = frames.udp(payload)
    reply = frames.udp(payload, source_port=PORT, destination_port=40000)
    other = frames.udp(payload, destination_port=OTHER)
    ether, ipv4, ipv6, tcp = frames.ethernet, frames.ipv4, frames.ipv6, frames.tcp
    udp, tcp_number = frames.UDP, frames.TCP
    data = tcp(payload or b"x")
    query6 = frames.udp(payload, **frames.OVER_IPV6)
    data6 = tcp(payload or b"x", **frames.OVER_IPV6)
    other_tcp = tcp(payload or b"x", destination_port=OTHER)
    options = {words: bytes([1] * 4 * words) for words in range(1, 11)}
    found = [
        ("query", QUERY, NORMAL, ether(ipv4(query, udp))),
        ("reply", NORMAL, RESPONSE, ether(ipv4(reply, udp))),
        ("other UDP", NORMAL, NORMAL, ether(ipv4(other, udp))),
        ("ARP", NORMAL, NORMAL, frames.arp()),
        ("ICMP", NORMAL, NORMAL, ether(ipv4(payload, frames.ICMP))),
        ("TCP SYN", NORMAL, NORMAL, ether(ipv4(tcp(flags=2, options=bytes(20)), tcp_number))),
        ("TCP ACK", NORMAL, NORMAL, ether(ipv4(tcp(), tcp_number))),
        ("TCP data", OPAQUE, NORMAL, ether(ipv4(data, tcp_number))),
        (
            "TCP data behind options",
            OPAQUE,
            NORMAL,
            ether(ipv4(tcp(b"x", options=bytes(12)), tcp_number)),
        ),
        ("other TCP", NORMAL, NORMAL, ether(ipv4(other_tcp, tcp_number))),
        ("first fragment", OPAQUE, NORMAL, ether(ipv4(query, udp, more_fragments=True))),
        ("last fragment", OPAQUE, NORMAL, ether(ipv4(payload, udp, fragment_offset=1))),
        ("far fragment", OPAQUE, NORMAL, ether(ipv4(payload, udp, fragment_offset=0x1F00))),
        ("TCP fragment", OPAQUE, NORMAL, ether(ipv4(payload, tcp_number, fragment_offset=9))),
        ("fragment of a reply", OPAQUE, NORMAL, ether(ipv4(reply, udp, more_fragments=True))),
        ("ICMP fragment", NORMAL, NORMAL, ether(ipv4(payload, frames.ICMP, fragment_offset=9))),
        ("broadcast", OPAQUE, NORMAL, ether(ipv4(query, udp), destination=frames.BROADCAST_MAC)),
        ("VLAN query", OPAQUE, NORMAL, ether(ipv4(query, udp), vlan=7)),
        ("VLAN reply", NORMAL, NORMAL, ether(ipv4(reply, udp), vlan=7)),
        ("VLAN other", NORMAL, NORMAL, ether(ipv4(other, udp), vlan=7)),
        ("VLAN TCP data", OPAQUE, NORMAL, ether(ipv4(data, tcp_number), vlan=7)),
        ("two VLANs", OPAQUE, NORMAL, ether(b"\0\7" + payload, ethertype=0x8100, vlan=7)),
        ("IPv6 UDP", OPAQUE, NORMAL, ether(ipv6(query6, udp), ethertype=0x86DD)),
        ("IPv6 other", NORMAL, NORMAL, ether(ipv6(other, udp), ethertype=0x86DD)),
        ("IPv6 TCP", OPAQUE, NORMAL, ether(ipv6(data6, tcp_number), ethertype=0x86DD)),
        ("IPv6 fragment", OPAQUE, NORMAL, ether(ipv6(payload, 44), ethertype=0x86DD)),
        ("ICMPv6", NORMAL, NORMAL, ether(ipv6(payload, 58), ethertype=0x86DD)),
        ("MLD", NORMAL, NORMAL, ether(ipv6(b"\x3a\0" + payload, 0), ethertype=0x86DD)),
        ("hop by hop", OPAQUE, NORMAL, ether(ipv6(b"\x11\0" + payload, 0), ethertype=0x86DD)),
        ("VLAN IPv6", OPAQUE, NORMAL, ether(ipv6(query, udp), ethertype=0x86DD, vlan=7)),
        ("short UDP", OPAQUE, NORMAL, ether(ipv4(query, udp))[:40]),
        ("other type", NORMAL, NORMAL, ether(ipv4(query, udp), ethertype=0x88CC)),
    ]
    for words, option in options.items():
        kind = OPAQUE
        other_kind = NORMAL if words <= 5 else OPAQUE  # the port is behind the first 64 bytes
        found += [
            (f"{words} options", kind, NORMAL, ether(ipv4(query, udp, options=option))),
            (
                f"{words} options, other",
                other_kind,
                NORMAL,
                ether(ipv4(other, udp, options=option)),
            ),
            (f"{words} options, ICMP", NORMAL, NORMAL, ether(ipv4(b"", 1, options=option))),
        ]
    return found


@cocotb.test()
async def kinds(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    rng = lab.bench.rng
    for payload in (b"", rng.randbytes(32), rng.randbytes(600)):
        for from_host in (False, True):
            cases = packets(payload)
            rng.shuffle(cases)
            source = HOST if from_host else 1 << rng.randrange(4)
            lab.pulses = 0
            found = await lab.pass_frames([Frame(case[3], source) for case in cases])
            for case, kind in zip(cases, found, strict=True):
                assert kind == case[2 if from_host else 1], (case[0], from_host, kind)
            # One is cut short: no kernel takes it.
            assert lab.pulses == max(found.count(OPAQUE) - 1, 0)


@cocotb.test()
async def every_opaque_frame_pulses_once_before_it_leaves(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.start()
    opaque = Frame(frames.ethernet(frames.ipv4(frames.tcp(b"set"), frames.TCP)), 1)
    query = Frame(frames.udp_frame(b"get"), 1)
    lab.source.send(opaque)
    words = -(-len(opaque.data) // lab.width)
    while lab.words < words - 1:
        await lab.bench.step()
        assert lab.pulses == 0, "the checksum is not known yet"
    lab.sink.paces[0].fixed = 0.0
    await lab.bench.step(8)
    # The last word waits at the output: the pulse does not.
    assert lab.pulses == 1
    lab.sink.paces[0].fixed = 1.0
    lab.sink.frames[0].clear()
    await lab.bench.until(lambda: lab.sink.count == 1, 20)
    await lab.pass_frames([query, opaque, query, opaque, opaque])
    assert lab.pulses == 4


@cocotb.test()
async def corrupt_frames_are_marked_and_are_no_foreign_writes(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    rng = lab.bench.rng
    opaque = frames.ethernet(frames.ipv4(frames.tcp(b"set of a key"), frames.TCP))
    query, reply = frames.udp_frame(b"get"), frames.udp_frame(b"reply", response=True)
    normal = frames.arp()
    expected, sent, pulses = [], [], 0
    for _ in range(200):
        data, source = rng.choice([(opaque, 1), (query, 2), (reply, HOST), (normal, 1)])
        bad = rng.random() < 0.5
        if bad:
            at = rng.choice([24, 25, 44])  # checksum of IPv4, what is behind UDP's
            data = data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :]
        sent.append(Frame(data, source))
        expected.append(bad and data[12:14] == b"\x08\0")
        pulses += data[:44] == opaque[:44] and not bad
    await lab.pass_frames(sent)
    assert lab.verdicts == expected
    assert lab.corrupt_pulses == sum(expected)
    assert lab.pulses == pulses


@cocotb.test()
async def random_frames_pass_unchanged(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    sent = [random_frame(lab.bench.rng, 1) for _ in range(80)]
    # Some look like queries that are cut off.
    for length in (1, 13, 14, 20, 33, 34, 41, 42, 43, 63, 64, 65):
        sent.append(Frame(frames.udp_frame(bytes(100))[:length], 1))
    kinds = await lab.pass_frames(sent)
    assert [kind == QUERY for kind in kinds[80:]] == [False] * 7 + [True] * 5


@cocotb.test()
async def a_frame_of_one_word_is_not_read_with_the_next(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    if lab.width != 32:
        return
    await lab.start()
    # Where the second word of the first frame would have the port of memcached.
    cut_off = frames.ethernet(frames.ipv4(frames.tcp(b"set"), frames.TCP))[:30]
    after = bytes(4) + PORT.to_bytes(2, "big") + bytes(54)
    assert await lab.pass_frames([Frame(cut_off, 1), Frame(after, 1)]) == [NORMAL, NORMAL]
    assert lab.pulses == 0


@cocotb.test()
async def one_word_a_cycle(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.start()
    sent = [Frame(frames.udp_frame(b"k" * 18), 1 << i % 4) for i in range(150)]
    start = lab.bench.cycle
    for frame in sent:
        lab.source.send(frame)
    words = sum(-(-len(frame.data) // lab.width) for frame in sent)
    await lab.bench.until(lambda: lab.sink.count == len(sent), 2 * words)
    assert lab.bench.cycle - start <= words + 5


@cocotb.test()
async def server_behind_a_network_port(dut: Any) -> None:
    lab = Lab(dut)
    dut.server_ports.value = 4
    await lab.start()
    query, reply = frames.udp_frame(b"q"), frames.udp_frame(b"r", response=True)
    sent = [Frame(data, port) for port in (1, 4, HOST) for data in (query, reply)]
    kinds = await lab.pass_frames(sent)
    assert kinds == [QUERY, NORMAL, NORMAL, RESPONSE, QUERY, NORMAL]


@cocotb.test()
async def off_is_normal_and_switching_on_is_a_foreign_write(dut: Any) -> None:
    lab = Lab(dut, mode=OFF)
    await lab.start()
    sent = [
        Frame(frames.udp_frame(b"q"), 1),
        Frame(frames.udp_frame(b"r", response=True), HOST),
        Frame(frames.ethernet(frames.ipv4(frames.tcp(b"set"), frames.TCP)), 2),
    ]
    assert await lab.pass_frames(sent) == [NORMAL] * 3
    assert lab.pulses == 0
    for _ in range(3):
        dut.mode.value = ON
        await lab.bench.step(4)
        assert lab.pulses == 1
        assert await lab.pass_frames(sent[:2]) == [QUERY, RESPONSE]
        assert lab.pulses == 1
        dut.mode.value = OFF
        await lab.bench.step(4)
        assert lab.pulses == 1
        assert await lab.pass_frames(sent) == [NORMAL] * 3
        lab.pulses = 0


async def windows(lab: Lab, frame: Frame, every: int, count: int) -> None:
    """Sends a frame every so many cycles, for `count` windows of the rate."""
    for _ in range(256 * count // every):
        lab.source.send(frame)
        await lab.bench.step(every)


@cocotb.test()
async def adaptive_mode_follows_the_rate_of_queries(dut: Any) -> None:
    lab = Lab(dut, mode=ADAPTIVE, pace=1.0)
    await lab.start()
    query, other = Frame(frames.udp_frame(b"q"), 1), Frame(frames.arp(), 1)
    await windows(lab, other, 4, 3)
    assert not int(dut.enabled.value)
    await windows(lab, query, 16, 4)  # 16 in a window: not yet
    assert not int(dut.enabled.value)
    assert int(dut.rate.value) == 16
    assert lab.pulses == 0
    await windows(lab, query, 8, 3)  # 32
    assert int(dut.enabled.value)
    assert lab.pulses == 1
    await windows(lab, query, 16, 3)  # still on
    assert int(dut.enabled.value)
    await windows(lab, query, 64, 3)  # 4: off
    assert not int(dut.enabled.value)
    assert lab.pulses == 1
    kinds = [frame.beside["m_kind"] for frame in lab.sink.frames[0] if frame == query]
    assert {NORMAL, QUERY} == set(kinds)


@cocotb.test()
async def reset_in_a_frame_leaves_nothing(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    for _ in range(10):
        lab.source.send(random_frame(lab.bench.rng, 1))
        await lab.bench.until(lambda: lab.source.in_frame or lab.source.idle, 2000)
        await lab.bench.step(lab.bench.rng.randrange(3))
        await lab.bench.reset()
        await lab.bench.step(2)
        lab.source.send(random_frame(lab.bench.rng, 1))
        lab.sink.frames[0].clear()
        await valid_without_ready(lab.bench, lab.sink)
        await lab.bench.until(lambda: lab.sink.count == 1, 1000)
        assert await lab.pass_frames([Frame(frames.udp_frame(b"q"), 1)]) == [QUERY]
