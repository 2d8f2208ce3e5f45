"""LaKe between clients and a server, with memories on chip: requests at once, in any order."""

from __future__ import annotations

from typing import Any

import cocotb
import frames
import memcached
from memcached import Operation, get, store
from streams import Bench, Frame, Sink, Source

TOP = "lake_module"
SMALL = {
    "USE_DRAM": 0,
    "USE_SRAM": 0,
    "PRESCALE": 6,
    "HASH_BITS": 4,
    "CHUNKS_64": 64,
    "CHUNKS_128": 16,
    "CHUNKS_256": 8,
    "CHUNKS_512": 8,
    "MISS_ENTRIES": 16,
    "SRAM_ADDRESS_BITS": 8,
}
PARAMETERS = [{"PES": 3, **SMALL}]
SERVER_PORT = 1 << 4


class Lab:
    def __init__(self, dut: Any) -> None:
        self.dut, self.bench = dut, Bench(dut)
        self.source, self.sink = Source(self.bench), Sink(self.bench)
        self.server = memcached.Server()
        self.hits = 0
        dut.enabled.value = 7
        dut.server_ports.value = SERVER_PORT
        dut.udp_header.value = dut.safe_writes.value = dut.fill.value = 1
        dut.cache_enable.value = 1
        dut.lifetime.value = 1000
        dut.second.value, dut.accuracy.value = 100_000, 10
        for name in (
            "single_use",
            "max_age",
            "foreign_write",
            "clear_flushes",
            "wall_write",
            "wall_time",
            "sram_rdata",
            "dram_ready",
            "s_corrupt",
        ):
            getattr(dut, name).value = 0
        dut.dram_response_valid.value = 0

    async def start(self) -> None:
        await self.bench.start()
        await self.bench.until(lambda: bool(self.dut.initialized.value), 5000)

    async def passes(self, *inward: Frame) -> list[Frame]:
        """What comes out for these frames."""
        before = self.sink.count
        for each in inward:
            self.source.send(each)
        await self.bench.until(lambda: self.sink.count == before + len(inward), 8000)
        return self.sink.frames[0][before:]

    async def ask(self, *operations: Operation) -> list[Operation]:
        """Each in a datagram of its own, at once; the replies in the order of the requests."""
        asked = {}
        for number, each in enumerate(operations):
            data = frames.udp_frame(frames.datagram(each.encode()), client=("10.0.0.1", 1 + number))
            asked[data] = number
        found: dict[int, Operation] = {}
        replies = []
        for out in await self.passes(*(Frame(data, source=1) for data in asked)):
            if out.destination:
                assert out.destination == 1, "an answer goes to the port of its request"
                (found[int.from_bytes(out.data[36:38], "big") - 1],) = memcached.decode(
                    out.data[50:]
                )
                self.hits += 1
                continue
            number = asked[out.data]
            reply = self.server.answer(operations[number])
            assert reply is not None
            found[number] = reply
            payload = frames.datagram(reply.encode())
            client = ("10.0.0.1", 1 + number)
            replies.append(
                Frame(frames.udp_frame(payload, client=client, response=True), source=16)
            )
        if replies:
            back = await self.passes(*replies)
            assert {each.data for each in back} == {each.data for each in replies}, "unchanged"
        return [found[number] for number in range(len(operations))]


@cocotb.test()
async def answers_are_those_of_the_server(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    rng = lab.bench.rng
    keys = [rng.randbytes(rng.choice((1, 4, 33, 100))) for _ in range(20)]
    for number in range(60):
        # One request for a key at a time: its answer is known.
        asked = []
        for key in rng.sample(keys, 4):
            value = rng.randbytes(rng.choice((0, 8, 60, 300)))
            write = store(key, value, opaque=number, flags=rng.getrandbits(32))
            delete = Operation(memcached.DELETE, key, opaque=number)
            asked.append(rng.choice([get(key, opaque=number)] * 6 + [write] * 3 + [delete]))
        held = {each.key: lab.server.items.get(each.key) for each in asked}
        for operation, reply in zip(asked, await lab.ask(*asked), strict=True):
            assert reply.opaque == number
            item = held[operation.key]
            if operation.opcode == memcached.GET and item is not None:
                assert (reply.extras, reply.value, reply.cas) == item
    counts = int(dut.counters.value)
    assert lab.hits == counts >> 32 * 13 & 0xFFFFFFFF
    assert lab.hits > 20


@cocotb.test()
async def an_unseen_write_makes_all_data_invalid(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    await lab.ask(store(b"key1", b"old"))
    await lab.ask(get(b"key1"))
    assert lab.hits == 1
    epochs = int(dut.epoch_count.value)
    dut.foreign_write.value = 1
    await lab.bench.step()
    dut.foreign_write.value = 0
    for _ in range(2):
        await lab.ask(get(b"key1"))
    assert lab.hits == 1
    assert int(dut.epoch_count.value) == epochs + 1
    assert not dut.quiet.value


@cocotb.test()
async def elements_that_are_off_take_no_frames(dut: Any) -> None:
    lab = Lab(dut)
    await lab.start()
    dut.enabled.value = 0
    lab.source.send(Frame(frames.udp_frame(frames.datagram(get(b"key1").encode())), source=1))
    await lab.bench.step(300)
    assert lab.sink.count == 0
    assert int(dut.starved_cycles.value) > 100
    assert int(dut.busy_cycles.value) == 0
    dut.enabled.value = 2
    await lab.bench.until(lambda: lab.sink.count == 1, 2000)
