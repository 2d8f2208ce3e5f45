"""Frames go to the functions of their addresses, replies to one controller."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
from streams import Bench, Frame, Source

TOP = "net_if"
PARAMETERS = [{"FUNCTIONS": 3}, {"FUNCTIONS": 1}]
OTHER = frames.SERVER_MAC


def mac(function: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, function + 1])


class Lab:
    def __init__(self, dut: Any, pace: float | None = None) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.functions = len(dut.m_valid)
        self.every = (1 << self.functions) - 1
        self.source = Source(self.bench, width=64, pace=pace)
        self.taken: list[list[bytes]] = [[] for _ in range(2 * self.functions)]
        self.parts: list[list[bytes]] = [[] for _ in range(2 * self.functions)]
        self.pulses = {"arrived": 0, "unknown": 0}
        self.unread = 0
        self.pace = pace
        dut.mac.value = sum(
            int.from_bytes(mac(each), "little") << 48 * each for each in range(self.functions)
        )
        dut.promiscuous.value = 0
        dut.enable.value = dut.reply_room.value = self.every
        dut.memcached_port.value, dut.port_mask.value = 11211, 0
        dut.m_ready.value = dut.reply_ready.value = 0
        self.ready = 0
        self.bench.drivers.append(self)

    def reset(self) -> None:
        pass

    def drive(self) -> None:
        active = self.pace is not None or self.bench.rng.random() < 0.7
        self.ready = self.every if active else self.bench.rng.getrandbits(self.functions)
        self.dut.m_ready.value = self.ready
        self.dut.reply_ready.value = self.every  # there was room

    def sample(self) -> None:
        dut = self.dut
        for name in self.pulses:
            self.pulses[name] += int(getattr(dut, name).value)
        self.unread += int(dut.unread_reply.value).bit_count()
        valid = int(dut.m_valid.value) & self.ready | int(dut.reply_valid.value) << self.functions
        for lane in range(2 * self.functions):
            if valid >> lane & 1:
                self.parts[lane].append(int(dut.m_data.value).to_bytes(64, "little"))
                if int(dut.m_last.value):
                    length = int(dut.m_meta.value) >> 16
                    self.taken[lane].append(b"".join(self.parts[lane])[:length])
                    self.parts[lane].clear()


@cocotb.test()
async def frames_reach_those_that_take_them(dut: Any) -> None:
    lab = Lab(dut)
    await lab.bench.start()
    rng = lab.bench.rng
    functions = range(lab.functions)
    expected: list[list[bytes]] = [[] for _ in range(2 * lab.functions)]
    unknown = unread = 0
    for number in range(400):
        promiscuous, room, enable = (rng.getrandbits(lab.functions) for _ in range(3))
        if number % 3:
            promiscuous, room, enable = 0, lab.every, lab.every
        dut.promiscuous.value, dut.reply_room.value, dut.enable.value = promiscuous, room, enable
        destination = rng.choice([mac(0), mac(lab.functions - 1), OTHER, b"\xff" * 6])
        reply = rng.random() < 0.5
        if reply:
            payload = frames.datagram(number.to_bytes(4, "big") + bytes(rng.randrange(300)))
            data = frames.udp_frame(payload, client_mac=destination, response=True)
        else:
            data = frames.ethernet(rng.randbytes(300), destination=destination, ethertype=0x88B5)
        takers = {each for each in functions if destination == mac(each) or promiscuous >> each & 1}
        if destination[0] & 1:
            takers = set(functions)
        reader = None
        if reply and not destination[0] & 1 and takers:
            owners = [each for each in functions if destination == mac(each)]
            if owners or len(takers) == 1:
                reader = owners[0] if owners else min(takers)
        if reader is not None and not enable >> reader & 1:
            reader = None
        if reader is not None and not room >> reader & 1:
            unread += 1
            reader = None
        for each in takers:
            expected[each + lab.functions * (each == reader)].append(data)
        unknown += not takers
        lab.source.send(Frame(data))
        await lab.bench.until(lambda: lab.source.idle, 400)
        await lab.bench.step(3)
    await lab.bench.until(lambda: not int(dut.busy.value), 400)
    await lab.bench.step(2)
    assert lab.taken == expected
    assert lab.pulses == {"arrived": 400, "unknown": unknown}
    assert lab.unread == unread


@cocotb.test()
async def a_word_in_each_cycle(dut: Any) -> None:
    lab = Lab(dut, pace=1.0)
    await lab.bench.start()
    for _ in range(50):
        lab.source.send(Frame(frames.ethernet(bytes(1500), destination=mac(0), ethertype=0x88B5)))
    start = lab.bench.cycle
    await lab.bench.until(lambda: len(lab.taken[0]) == 50, 2000)
    assert lab.bench.cycle - start < 50 * 24 + 20
