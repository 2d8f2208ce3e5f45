"""Requests and all other frames of a function take their ways, whole and in order."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
from kv_lab import OPAQUE, ORDERED, QUERY
from memcached import get
from streams import Bench, Frame, Sink, Source, random_frame

TOP = "transmit_path"
PARAMETERS = [{"DEPTH": 256}]
DEPTH = 256


class Lab:
    def __init__(self, dut: Any, pace: float | None = None) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source = Source(self.bench, width=64, pace=pace)
        self.forward = Source(self.bench, "forward", width=64, pace=pace)
        self.net = Sink(self.bench, "net", width=64, pace=pace)
        # A frame's kind stands above its metadata, which the sink takes.
        self.kv = Sink(self.bench, "kv", width=64, pace=pace)
        dut.enable.value, dut.drop_requests.value = 1, 0
        dut.memcached_port.value, dut.port_mask.value = 11211, 0
        dut.source.value = 4
        self.pulses = {"sent": 0, "request_dropped": 0}
        self.bytes = 0
        self.bench.drivers.append(self)

    def drive(self) -> None:
        pass

    def reset(self) -> None:
        pass

    def sample(self) -> None:
        for name in self.pulses:
            self.pulses[name] += int(getattr(self.dut, name).value)
        if int(self.dut.sent.value):
            self.bytes += int(self.dut.sent_length.value)


def request(opaque: int, length: int = 5) -> bytes:
    return frames.udp_frame(frames.datagram(get(b"k" * length, opaque=opaque).encode()))


@cocotb.test()
async def frames_take_their_ways_in_order(dut: Any) -> None:
    lab = Lab(dut)
    await lab.bench.start()
    rng = lab.bench.rng
    normal, requests, forwarded, kinds = [], [], [], []
    for number in range(300):
        choice = rng.random()
        if choice < 0.4:
            data = frames.ethernet(rng.randbytes(rng.randrange(1, 2000)), ethertype=0x88B5)
            normal.append(data)
        else:
            tcp = frames.ipv4(frames.tcp(bytes(rng.choice((0, 1, 1400)))), frames.TCP)
            segment = frames.ethernet(tcp)
            data = request(number, rng.randrange(1, 250)) if choice < 0.7 else segment
            requests.append(data)
            kinds.append(QUERY if choice < 0.7 else OPAQUE if len(tcp) > 40 else ORDERED)
        lab.source.send(Frame(data))
        if rng.random() < 0.3:
            frame = random_frame(rng)
            forwarded.append(frame)
            lab.forward.send(frame)
    seen: list[int] = []
    begins = True
    while lab.source.queues[0] or lab.forward.queues[0] or not seen or int(dut.busy.value):
        await lab.bench.step()
        if int(dut.kv_valid.value) and int(dut.kv_ready.value):
            if begins:
                seen.append(int(dut.kv_meta.value) >> 32)
            begins = bool(int(dut.kv_last.value))
        assert lab.bench.cycle < 100000
    await lab.bench.step(20)
    assert [each.data for each in lab.kv.frames[0]] == requests
    assert seen == kinds
    assert all(each.source == 4 for each in lab.kv.frames[0])
    out = lab.net.frames[0]
    assert [each.data for each in out if each.data in set(normal)] == normal
    assert [each for each in out if each in set(forwarded)] == forwarded
    assert len(out) == len(normal) + len(forwarded)
    assert lab.pulses == {"sent": 300, "request_dropped": 0}
    assert lab.bytes == sum(map(len, normal + requests))


@cocotb.test()
async def without_the_cache_all_frames_go_to_the_network(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    dut.enable.value = 0
    await lab.bench.start()
    for number in range(20):
        lab.source.send(Frame(request(number)))
    await lab.bench.until(lambda: lab.net.count == 20, 500)
    assert [each.data for each in lab.net.frames[0]] == [request(each) for each in range(20)]


@cocotb.test()
async def requests_wait_and_other_frames_pass(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.bench.start()
    lab.kv.paces[0].fixed = 0.0
    other = frames.arp()
    for number in range(DEPTH // 2 - 2):
        lab.source.send(Frame(request(number)))
    lab.source.send(Frame(other))
    await lab.bench.until(lambda: lab.net.count == 1, 400)
    for number in range(10):
        lab.source.send(Frame(request(number)))
    await lab.bench.step(100)
    assert lab.source.queues[0], "requests wait for room"
    lab.kv.paces[0].fixed = 1.0
    await lab.bench.until(lambda: lab.kv.count == DEPTH // 2 + 8, 1000)
    assert not lab.pulses["request_dropped"]


@cocotb.test()
async def requests_without_room_may_be_dropped_whole(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    dut.drop_requests.value = 1
    await lab.bench.start()
    lab.kv.paces[0].fixed = 0.0
    sent = [request(number, 200) for number in range(100)]
    for each in sent:
        lab.source.send(Frame(each))
    lab.source.send(Frame(frames.arp()))
    await lab.bench.until(lambda: lab.net.count == 1, 1000)
    await lab.bench.step(10)
    dropped = lab.pulses["request_dropped"]
    assert 0 < dropped < 100
    lab.kv.paces[0].fixed = 1.0
    await lab.bench.until(lambda: lab.kv.count == 100 - dropped, 1000)
    assert [each.data for each in lab.kv.frames[0]] == sent[: 100 - dropped]
