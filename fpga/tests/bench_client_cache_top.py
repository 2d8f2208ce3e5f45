"""The whole card: drivers in front, a server behind, hits between them."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
import memcached
from bench_client_cache_core import (
    FILL,
    HEADER,
    LIFE,
    MODE,
    OPTIONS,
    SAFE,
    SHAPE,
    STATE,
    address,
    aged,
    mac,
)
from host_memory import HostMemory
from kv_lab import STORE, checked
from memcached import Operation, get, store
from streams import Bench, Frame, Sink, Source
from virtio_driver import DEVICE, ReceiveTraffic, TransmitTraffic, VirtioDriver

TOP = "client_cache_top"
SMALL = {"INDEX_BITS": 6, "MISS_ENTRIES": 32, "PRESCALE": 6}
PARAMETERS = [
    {"FUNCTIONS": 2, "CONTROLLERS": 1, **SMALL},
    {"FUNCTIONS": 1, "CONTROLLERS": 0, **SMALL},
]
UNIT = 64
SERVER = "10.0.1.1"


class Card:
    def __init__(self, dut: Any) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.functions = len(dut.irq) // 3
        for name in ("reg_write", "reg_read", "reg_address", "reg_wdata", "seed"):
            getattr(dut, name).value = 0
        self.memory = HostMemory(self.bench, functions=self.functions, user=True)
        names: dict[str, Any] = {
            "meta": lambda frame: len(frame.data),
            "meta_bits": 16,
            "meta_name": "meta_length",
        }
        self.wire = Source(self.bench, "rx", width=64, **names)
        self.sent = Sink(self.bench, "tx", width=64, meta_bits=16, meta_name="meta_length")
        self.drivers: list[VirtioDriver] = []
        self.transmit: list[TransmitTraffic] = []
        self.receive: list[ReceiveTraffic] = []

    async def start(self) -> None:
        await self.bench.start()
        bar = None
        for function in range(self.functions):
            driver = VirtioDriver(self.bench, self.memory, function=function, bar=bar)
            bar = driver.bar
            self.drivers.append(driver)
            await driver.initialise((64, 64))
            self.transmit.append(TransmitTraffic(driver))
            self.receive.append(ReceiveTraffic(driver))
        for _ in range(400):
            if await self.read(STATE) & 1:
                break
            await self.bench.step(20)
        await self.write(LIFE, 2)
        await self.write(OPTIONS, HEADER | SAFE | FILL | 16 * STORE)
        await self.write(MODE, 1)
        await self.bench.step(6 * UNIT)
        await self.write(LIFE, 1000)

    async def write(self, at: int, value: int) -> None:
        self.dut.reg_address.value, self.dut.reg_wdata.value = at, value
        self.dut.reg_write.value = 1
        await self.bench.step()
        self.dut.reg_write.value = 0
        await self.bench.step()

    async def read(self, at: int) -> int:
        self.dut.reg_address.value = at
        self.dut.reg_read.value = 1
        await self.bench.step()
        self.dut.reg_read.value = 0
        await self.bench.step()
        return int(self.dut.reg_rdata.value)


@cocotb.test()
async def clients_get_answers_of_cache_and_server(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    rng = card.bench.rng
    server = {each: memcached.Server() for each in range(card.functions)}  # groups have their own
    keys = [b"key%d" % number for number in range(5)]
    hits = seen_sent = 0
    pending: dict[int, tuple[int, Operation, Any]] = {}
    seen = [0] * card.functions
    for number in range(240):
        function = rng.randrange(card.functions)
        key = rng.choice(keys) + b"%d" % function
        asked = get(key, opaque=number)
        if rng.random() < 0.2:
            asked = store(key, rng.randbytes(rng.choice((1, 100, 512))), opaque=number)
        ends: dict[str, Any] = {"client": (address(function), 4000), "server": (SERVER, 11211)}
        payload = frames.datagram(asked.encode())
        card.transmit[function].send(frames.udp_frame(payload, client_mac=mac(function), **ends))
        pending[number] = (function, asked, server[function].items.get(key))
        for _ in range(400):
            await card.bench.step(20)
            for frame in card.sent.frames[0][seen_sent:]:
                seen_sent += 1
                (request,) = memcached.decode(checked(frame.data)[8:])
                owner = frame.data[11] - 1
                reply = server[owner].answer(request)
                assert reply is not None
                back = frames.udp_frame(
                    frames.datagram(reply.encode()),
                    client=(address(owner), 4000),
                    server=(SERVER, 11211),
                    client_mac=mac(owner),
                    response=True,
                )
                card.wire.send(Frame(aged(back)))
            for each in range(card.functions):
                for frame in card.receive[each].frames[seen[each] :]:
                    seen[each] += 1
                    (reply,) = memcached.decode(checked(frame.data)[8:])
                    owner, question, item = pending.pop(reply.opaque)
                    assert owner == each
                    if frame.data[22] == 64:
                        hits += 1
                        assert (reply.extras, reply.value, reply.cas) == item
                        assert question.opcode == memcached.GET
            if not pending:
                break
        assert not pending, f"no reply to {asked}"
    await card.bench.step(200)
    controllers = await card.read(SHAPE) >> 8 & 255
    assert (hits > 60) if controllers else (hits == 0)
    total = 0
    for function in range(card.functions):
        base = 0x1000 + 0x100 * function
        total += await card.read(base + 64 + 4 * 18)
        sent = await card.read(base + 64 + 4 * 2)
        assert sent == await card.read(base + 200 + 4 * 4), "frames from the driver"
        assert await card.read(base + 200) == 0, "frames that were dropped"
    assert total == hits
    assert not await card.read(STATE) & 16


@cocotb.test()
async def functions_have_the_addresses_of_the_registers(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    for function, driver in enumerate(card.drivers):
        found = [await driver.bar.read(DEVICE + at, 1, function) for at in range(6)]
        assert bytes(found) == mac(function)
    last = card.functions - 1
    await card.write(0x1000 + 0x100 * last, 0x04030202)
    driver = card.drivers[last]
    assert [await driver.bar.read(DEVICE + at, 1, last) for at in range(4)] == [2, 2, 3, 4]


@cocotb.test()
async def frames_of_all_lengths_pass_both_ways(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    rng = card.bench.rng
    out: list[list[bytes]] = [[] for _ in range(card.functions)]
    back: list[list[bytes]] = [[] for _ in range(card.functions)]
    for _ in range(60):
        function = rng.randrange(card.functions)
        data = rng.randbytes(rng.choice((1, 46, 47, 500, 1500)))
        frame = frames.ethernet(data, source=mac(function), ethertype=0x88B5)
        out[function].append(frame)
        card.transmit[function].send(frame)
        frame = frames.ethernet(data, destination=mac(function), ethertype=0x88B5)
        back[function].append(frame)
        card.wire.send(Frame(frame))
        await card.bench.step(100)
    await card.bench.until(lambda: card.sent.count == 60, 20000)
    await card.bench.until(lambda: sum(len(each.frames) for each in card.receive) == 60, 20000)
    for function in range(card.functions):
        sent = [each.data for each in card.sent.frames[0] if each.data[11] == function + 1]
        assert sent == out[function]
        assert [each.data for each in card.receive[function].frames] == back[function]
