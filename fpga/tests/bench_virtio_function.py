"""A driver moves frames through a virtio function, whatever it and the memory do.

The memory fails the bench if the function writes a byte that the driver has not offered.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from host_memory import HostMemory
from streams import Bench, Frame, Sink, Source
from virtio_driver import (
    DEVICE,
    HEADER_BYTES,
    INDIRECT,
    ISR,
    MAX_FRAME,
    NEEDS_RESET,
    NEXT,
    POSITION,
    RECEIVE,
    STATUS_FEATURE,
    TRANSMIT,
    VERSION_1,
    WRITE,
    ReceiveTraffic,
    SplitQueue,
    TransmitTraffic,
    VirtioDriver,
    whole,
)

TOP = "virtio_function"
PARAMETERS: list[dict[str, int]] = [{}]
MAC = 0x060504030201
READ_CYCLES = 140
MEGAHERTZ = 250


class Setting:
    """A function with its driver, memory and streams."""

    def __init__(
        self,
        dut: Any,
        rng: random.Random | None = None,
        *,
        pace: float | None = None,
        **memory: Any,
    ) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        if rng is not None:
            self.bench.rng = rng
        self.rng = self.bench.rng
        self.memory = HostMemory(self.bench, pace=pace, **memory)
        self.driver = VirtioDriver(self.bench, self.memory)
        self.source = Source(self.bench, "s", width=64, pace=1.0)
        self.sink = Sink(self.bench, "m", width=64, pace=pace)

    async def start(self) -> None:
        self.dut.mac.value = MAC
        self.dut.link_up.value = 1
        await self.bench.start()

    @property
    def sent(self) -> list[Frame]:
        return self.sink.frames[0]

    def counters(self) -> dict[str, int]:
        total = int(self.dut.counters.value)
        found = {}
        for name in reversed(
            [
                "tx_frames",
                "tx_bytes",
                "tx_dropped",
                "tx_bad_chains",
                "rx_frames",
                "rx_bytes",
                "rx_dropped",
                "rx_bad_chains",
            ]
        ):
            bits = 64 if "bytes" in name else 32
            found[name] = total & (1 << bits) - 1
            total >>= bits
        return found


def random_setting(dut: Any, case: int) -> Setting:
    rng = random.Random(f"{cocotb.RANDOM_SEED}-{case}")
    return Setting(
        dut,
        rng,
        pace=rng.choice((None, 1.0)),
        read_cycles=rng.choice((1, 8, 60)),
        write_cycles=rng.choice((1, 8, 60)),
        early=rng.random() < 0.5,
    )


def random_length(rng: random.Random) -> int:
    return rng.choice(
        (
            rng.randrange(14, 200),
            rng.randrange(14, 1600),
            64 * rng.randrange(1, 24) + rng.randrange(-2, 3),
            1514,
        )
    )


@cocotb.test()
@cocotb.parametrize(case=range(8))
async def frames_pass_both_ways(dut: Any, case: int) -> None:
    """Any size of queues, any shape of chains, indices that wrap."""
    setting = random_setting(dut, case)
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await setting.start()
    sizes = [rng.choice((2, 4, 8, 16, 64, 256)) for _ in range(2)]
    starts = [rng.choice((0, 65530, rng.randrange(65536))) for _ in range(2)]
    await driver.initialise(sizes, starts=starts)
    transmit = TransmitTraffic(driver, polling=rng.random() < 0.2)
    receive = ReceiveTraffic(driver, polling=rng.random() < 0.2)
    frames = [Frame(rng.randbytes(random_length(rng))) for _ in range(40)]
    for frame in frames:
        setting.source.send(frame)
        transmit.send(rng.randbytes(random_length(rng)))
    await bench.until(lambda: transmit.idle and len(receive.frames) == len(frames), 60000)
    await bench.until(lambda: len(setting.sent) == len(transmit.expected), 2000)
    assert receive.frames == frames
    assert setting.sent == transmit.expected
    assert receive.failed == 0
    for number, done in ((TRANSMIT, len(transmit.expected)), (RECEIVE, len(frames))):
        position = await driver.bar.read(POSITION + 4 * number, 4)
        assert position & 0xFFFF == (starts[number] + done) & 0xFFFF
    counters = setting.counters()
    assert counters["tx_frames"] == len(transmit.expected)
    assert counters["tx_bytes"] == sum(len(each.data) for each in transmit.expected)
    assert counters["rx_frames"] == len(frames)
    assert counters["rx_bytes"] == sum(len(each.data) for each in frames)
    assert not any(
        counters[f"{way}_{what}"] for way in ("tx", "rx") for what in ("dropped", "bad_chains")
    )
    assert not await driver.get("device_status") & NEEDS_RESET


# Throughput and latency at 140 cycles of read latency.


async def measured(dut: Any, length: int, count: int, way: str) -> float:
    """Cycles a frame with full rings and a memory that never stalls."""
    setting = Setting(
        dut, random.Random(1), pace=1.0, read_cycles=READ_CYCLES, write_cycles=READ_CYCLES
    )
    bench, driver = setting.bench, setting.driver
    await setting.start()
    await driver.initialise((256, 256))
    transmit = receive = None
    if "t" in way:
        transmit = TransmitTraffic(driver, split=whole, pace=1.0, batch=16)
        for _ in range(count):
            transmit.send(setting.rng.randbytes(length))
    if "r" in way:
        receive = ReceiveTraffic(driver, split=whole, pace=1.0)
        await bench.step(1000)
        for _ in range(count):
            setting.source.send(Frame(setting.rng.randbytes(length)))
    began = bench.cycle

    def done() -> bool:
        return (transmit is None or transmit.idle) and (
            receive is None or len(receive.frames) == count
        )

    await bench.until(done, 100 * count + 5000)
    await bench.step(100)
    if transmit is not None:
        assert setting.sent == transmit.expected
    # Without the first frames: from a quarter of them to the end.
    if way == "t":
        cycles = setting.sink.cycles[0]
        return (cycles[-1] - cycles[count // 4]) / (count - 1 - count // 4)
    return (bench.cycle - 100 - began) / count


@cocotb.test()
@cocotb.parametrize(
    length=[60, 1500],
    way=["t", "r", "tr"],
)
async def frames_reach_the_target_rate(dut: Any, length: int, way: str) -> None:
    """5 million frames/s of 60 bytes and 40 Gbit/s of 1,500 bytes at 250 MHz, each way."""
    count = 1200 if length == 60 else 400
    cycles = await measured(dut, length, count, way)
    rate, bits = MEGAHERTZ / cycles, MEGAHERTZ / cycles * length * 8 / 1000
    name = {"t": "transmit", "r": "receive", "tr": "both ways"}[way]
    print(f"{name}, {length} bytes: {cycles:.1f} cycles, {rate:.1f} Mframes/s, {bits:.1f} Gbit/s")
    if length == 60:
        assert rate >= 5
    else:
        assert bits >= 40


@cocotb.test()
async def latency_is_a_few_reads(dut: Any) -> None:
    """From the notification to the first word of a frame, and from a frame to the interrupt."""
    setting = Setting(
        dut, random.Random(1), pace=1.0, read_cycles=READ_CYCLES, write_cycles=READ_CYCLES
    )
    bench, driver = setting.bench, setting.driver
    await setting.start()
    await driver.initialise((256, 256), aligned=True)
    ReceiveTraffic(driver, split=whole, pace=1.0)
    transmit = TransmitTraffic(driver, split=whole, pace=1.0)
    await bench.step(2000)
    for length in (60, 1500):
        transmit.send(setting.rng.randbytes(length))
        kicked = bench.cycle + 2  # `fill` acts in the next step, the register is written then
        await bench.until(lambda: int(dut.m_valid.value) == 1, 3000)
        sent = bench.cycle - kicked
        await driver.irq.another(2, 3000)
        irq = driver.irq.cycles[2][-1] - kicked
        await bench.step(1000)
        setting.source.send(Frame(setting.rng.randbytes(length)))
        began = bench.cycle
        await driver.irq.another(1, 3000)
        print(
            f"{length} bytes: notification to first word {sent} cycles, to interrupt {irq}; "
            f"received frame to interrupt {bench.cycle - began}"
        )
        assert sent <= 4 * READ_CYCLES + 60
        await bench.step(1000)


@cocotb.test()
async def no_interrupt_is_obeyed(dut: Any) -> None:
    """With NO_INTERRUPT no interrupt comes; without it one follows the last used element."""
    setting = random_setting(dut, 0)
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await setting.start()
    await driver.initialise((64, 64))
    transmit = TransmitTraffic(driver, polling=True)
    receive = ReceiveTraffic(driver, polling=True)
    for _ in range(50):
        transmit.send(rng.randbytes(random_length(rng)))
        setting.source.send(Frame(rng.randbytes(random_length(rng))))
    await bench.until(lambda: transmit.idle and len(receive.frames) == 50, 60000)
    assert driver.irq.counts == [0, 0, 0]
    assert await driver.bar.read(ISR, 1) == 0
    await bench.step(500)  # flags of the last chains are read
    # Interrupts on, nothing to return: still none. Then one frame: one interrupt.
    transmit.queue.suppress(False)
    receive.queue.suppress(False)
    await bench.step(500)
    assert driver.irq.counts == [0, 0, 0]
    transmit.send(rng.randbytes(60))
    await bench.until(lambda: driver.irq.counts[2] == 1, 3000)
    assert int(dut.irq_pin.value) == 1
    assert await driver.bar.read(ISR, 1) == 1
    assert await driver.bar.read(ISR, 1) == 0
    assert int(dut.irq_pin.value) == 0
    await bench.step(500)
    assert driver.irq.counts == [0, 0, 1]
    vectors = int(dut.irq_vector.value)
    assert [vectors >> 16 * i & 0xFFFF for i in range(3)] == [0xFFFF, 1, 2]


@cocotb.test()
async def frames_wait_for_buffers(dut: Any) -> None:
    """Without a driver frames are dropped; without a buffer they wait."""
    setting = random_setting(dut, 1)
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await setting.start()
    for _ in range(5):
        setting.source.send(Frame(rng.randbytes(random_length(rng))))
    await bench.until(lambda: setting.source.idle, 2000)
    assert setting.counters()["rx_dropped"] == 5
    await driver.initialise((16, 16))
    frames = [Frame(rng.randbytes(random_length(rng))) for _ in range(10)]
    for frame in frames:
        setting.source.send(frame)
    await bench.step(2000)
    assert setting.source.sent[0] == 5
    receive = ReceiveTraffic(driver, split=whole, limit=4)
    await bench.until(lambda: len(receive.frames) == 4, 5000)
    await bench.step(1000)
    assert len(receive.frames) == 4
    receive.limit = 1000
    await bench.until(lambda: len(receive.frames) == 10, 10000)
    assert receive.frames == frames


@cocotb.test()
async def link_down_drops_frames_to_send(dut: Any) -> None:
    setting = random_setting(dut, 2)
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await setting.start()
    await driver.initialise((16, 16), features=VERSION_1 | STATUS_FEATURE)
    transmit = TransmitTraffic(driver)
    assert await driver.bar.read(DEVICE + 6, 2) == 1
    generation = await driver.get("config_generation")
    dut.link_up.value = 0
    await bench.until(lambda: driver.irq.counts[0] == 1, 100)
    assert await driver.bar.read(ISR, 1) == 2
    assert await driver.bar.read(DEVICE + 6, 2) == 0
    assert await driver.get("config_generation") == (generation + 1) & 255
    for _ in range(10):
        transmit.send(rng.randbytes(random_length(rng)))
    await bench.until(lambda: transmit.idle, 10000)
    await bench.step(200)
    assert not setting.sent
    assert setting.counters()["tx_dropped"] == 10
    dut.link_up.value = 1
    transmit.expected.clear()
    transmit.send(rng.randbytes(100))
    await bench.until(lambda: len(setting.sent) == 1, 5000)
    assert setting.sent == transmit.expected


@cocotb.test()
@cocotb.parametrize(case=range(4))
async def reset_at_any_time(dut: Any, case: int) -> None:
    """Frames before the reset are sent whole or not at all; afterwards nothing is written."""
    setting = random_setting(dut, 10 + case)
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await setting.start()
    longest = 0
    for _ in range(12):
        await driver.initialise(
            [rng.choice((4, 16, 256)) for _ in range(2)],
            starts=[rng.randrange(65536) for _ in range(2)],
        )
        transmit, receive = TransmitTraffic(driver), ReceiveTraffic(driver)
        before = len(setting.sent)
        for _ in range(20):
            transmit.send(rng.randbytes(random_length(rng)))
            setting.source.send(Frame(rng.randbytes(random_length(rng))))
        await bench.step(rng.choice((rng.randrange(60), rng.randrange(400), rng.randrange(1500))))
        transmit.stop()
        receive.stop()
        longest = max(longest, await driver.reset())
        # The rest of the frames for the driver is dropped; frames that were read whole are sent.
        await bench.until(lambda: setting.source.idle, 5000)
        await bench.step(1500)
        sent = setting.sent[before:]
        assert sent == transmit.expected[: len(sent)]
    assert longest < 2000
    await passes_frames(setting)
    print(f"reset under traffic: at most {longest} cycles")


async def passes_frames(setting: Setting, count: int = 10) -> None:
    """The function works after a reset."""
    bench, driver, rng = setting.bench, setting.driver, setting.rng
    await driver.initialise((16, 16))
    transmit, receive = TransmitTraffic(driver), ReceiveTraffic(driver)
    before = len(setting.sent)
    frames = [Frame(rng.randbytes(random_length(rng))) for _ in range(count)]
    for frame in frames:
        transmit.send(rng.randbytes(random_length(rng)))
        setting.source.send(frame)
    await bench.until(lambda: transmit.idle and len(receive.frames) == count, 30000)
    await bench.until(lambda: len(setting.sent) == before + count, 2000)
    assert setting.sent[before:] == transmit.expected
    assert receive.frames == frames
    transmit.stop()
    receive.stop()


# Chains and rings that are wrong. "returned": the chain comes back with length 0 and its frame is
# dropped. "stops": the device needs a reset. "passes": it is unusual, but right.


def chain(queue: SplitQueue, places: list[tuple[int, int, int, int, int]], head: int = 0) -> None:
    for place in places:
        queue.describe(*place)
    queue.offer(head)
    queue.publish()


WRONG: dict[str, tuple[int, str]] = {
    "head_out_of_range": (TRANSMIT, "stops"),
    "next_out_of_range": (TRANSMIT, "stops"),
    "loop_of_one": (TRANSMIT, "stops"),
    "loop_of_three": (TRANSMIT, "stops"),
    "loop_while_receiving": (RECEIVE, "stops"),
    "index_jumps": (TRANSMIT, "stops"),
    "index_goes_back": (RECEIVE, "stops"),
    "descriptors_unmapped": (TRANSMIT, "stops"),
    "available_ring_unmapped": (RECEIVE, "stops"),
    "used_ring_unmapped": (TRANSMIT, "stops"),
    "receive_buffer_unmapped": (RECEIVE, "stops"),
    "transmit_buffer_unmapped": (TRANSMIT, "returned"),
    "second_buffer_unmapped": (TRANSMIT, "returned"),
    "transmit_buffer_to_write": (TRANSMIT, "returned"),
    "last_buffer_to_write": (TRANSMIT, "returned"),
    "receive_buffer_to_read": (RECEIVE, "returned"),
    "receive_chain_too_short": (RECEIVE, "returned"),
    "receive_chain_of_header_only": (RECEIVE, "returned"),
    "receive_chain_empty": (RECEIVE, "returned"),
    "transmit_chain_empty": (TRANSMIT, "returned"),
    "header_cut_off": (TRANSMIT, "returned"),
    "header_only": (TRANSMIT, "returned"),
    "frame_of_13_bytes": (TRANSMIT, "returned"),
    "frame_of_9217_bytes": (TRANSMIT, "returned"),
    "buffer_of_4_gib": (TRANSMIT, "returned"),
    "many_long_buffers": (TRANSMIT, "returned"),
    "indirect": (TRANSMIT, "returned"),
    "indirect_while_receiving": (RECEIVE, "returned"),
    "frame_of_9216_bytes": (TRANSMIT, "passes"),
    "chain_of_all_descriptors": (TRANSMIT, "passes"),
    "empty_buffers_between": (TRANSMIT, "passes"),
    "empty_buffer_at_the_end": (TRANSMIT, "passes"),
    "receive_into_single_bytes": (RECEIVE, "passes"),
    "receive_buffer_of_4_gib": (RECEIVE, "passes"),
}
SIZE = 128


def make_wrong(setting: Setting, name: str) -> bytes | None:
    """Offers a chain; the frame that should leave or arrive, if any."""
    rng, memory, driver = setting.rng, setting.memory, setting.driver
    queue = driver.queues[WRONG[name][0]]
    take = driver.arena.take

    def filled(content: bytes) -> int:
        address = take(len(content))
        memory.write(0, address, content)
        return address

    def writable(length: int) -> int:
        address = take(length)
        memory.allow(0, address, length)
        return address

    frame = rng.randbytes(200)
    content = bytes(HEADER_BYTES) + frame
    match name:
        case "head_out_of_range":
            chain(queue, [], head=rng.choice((SIZE, SIZE + 1, 0xFFFF)))
        case "next_out_of_range":
            chain(queue, [(0, filled(content), len(content), NEXT, rng.choice((SIZE, 0xFFFF)))])
        case "loop_of_one":
            chain(queue, [(5, filled(content), 20, NEXT, 5)], head=5)
        case "loop_of_three":
            address = filled(content)
            chain(queue, [(i, address, 4, NEXT, (i + 7) % 21) for i in (0, 7, 14)])
        case "loop_while_receiving":
            chain(queue, [(i, writable(4), 4, NEXT | WRITE, 1 - i) for i in range(2)])
        case "index_jumps":
            memory.write_int(0, queue.avail + 2, 2, queue.avail_index + SIZE + 1 & 0xFFFF)
        case "index_goes_back":
            memory.write_int(0, queue.avail + 2, 2, queue.avail_index - 1 & 0xFFFF)
        case "descriptors_unmapped" | "available_ring_unmapped" | "used_ring_unmapped":
            chain(queue, [(0, filled(content), len(content), 0, 0)])
            for place in range(3):
                memory.unmap(
                    0,
                    {"descr": queue.desc, "avail": queue.avail, "used_": queue.used}[name[:5]]
                    + place * 64,
                )
        case "receive_buffer_unmapped":
            chain(queue, [(0, driver.arena.unmapped(), 1600, WRITE, 0)])
        case "transmit_buffer_unmapped":
            chain(queue, [(0, driver.arena.unmapped(), 1500, 0, 0)])
        case "second_buffer_unmapped":
            places = [(0, filled(content), 100, NEXT, 1), (1, driver.arena.unmapped(), 70, NEXT, 2)]
            chain(queue, [*places, (2, filled(content), 100, 0, 0)])
        case "transmit_buffer_to_write":
            chain(queue, [(0, filled(content), len(content), WRITE, 0)])
        case "last_buffer_to_write":
            chain(
                queue,
                [(0, filled(content), 212, NEXT, 1), (1, filled(content), 212, WRITE, 0)],
            )
        case "receive_buffer_to_read":
            chain(queue, [(0, take(1600), 1600, 0, 0)])
        case "receive_chain_too_short":
            chain(
                queue, [(0, writable(100), 100, WRITE | NEXT, 1), (1, writable(111), 111, WRITE, 0)]
            )
        case "receive_chain_of_header_only":
            chain(queue, [(0, writable(12), 12, WRITE, 0)])
        case "receive_chain_empty":
            chain(queue, [(0, take(4), 0, WRITE, 0)])
        case "transmit_chain_empty":
            chain(queue, [(0, take(4), 0, 0, 0)])
        case "header_cut_off":
            chain(queue, [(0, filled(content), 11, 0, 0)])
        case "header_only":
            chain(queue, [(0, filled(content), 12, 0, 0)])
        case "frame_of_13_bytes":
            chain(queue, [(0, filled(content), 25, 0, 0)])
        case "frame_of_9217_bytes":
            chain(queue, [(0, filled(bytes(9229)), 9229, 0, 0)])
        case "buffer_of_4_gib":
            chain(queue, [(0, filled(content), 0xFFFFFFFF, 0, 0)])
        case "many_long_buffers":
            address = filled(bytes(9000))
            chain(
                queue,
                [(i, address, 9000, NEXT if i < SIZE - 1 else 0, i + 1) for i in range(SIZE)],
            )
        case "indirect":
            chain(queue, [(0, filled(content), 64, INDIRECT, 0)])
        case "indirect_while_receiving":
            chain(queue, [(0, filled(content), 64, INDIRECT | WRITE, 0)])
        case "frame_of_9216_bytes":
            frame = rng.randbytes(MAX_FRAME)
            chain(queue, [(0, filled(bytes(12) + frame), MAX_FRAME + 12, 0, 0)])
        case "chain_of_all_descriptors":
            order = list(range(SIZE))
            rng.shuffle(order)
            content = bytes(12) + rng.randbytes(3 * SIZE - 12)
            frame = content[12:]
            for at, place in enumerate(order):
                last = at == SIZE - 1
                queue.describe(
                    place,
                    filled(content[3 * at : 3 * at + 3]),
                    3,
                    0 if last else NEXT,
                    0 if last else order[at + 1],
                )
            chain(queue, [], head=order[0])
        case "empty_buffers_between":
            places = [
                (0, filled(b""), 0, NEXT, 9),
                (9, filled(content[:50]), 50, NEXT, 4),
                (4, driver.arena.unmapped(), 0, NEXT, 5),
                (5, filled(content[50:]), len(content) - 50, 0, 0),
            ]
            chain(queue, places)
        case "empty_buffer_at_the_end":
            chain(
                queue, [(0, filled(content), 212, NEXT, 3), (3, driver.arena.unmapped(), 0, 0, 0)]
            )
        case "receive_into_single_bytes":
            frame = rng.randbytes(SIZE - 12 - 20)
            places = []
            for i in range(SIZE):
                places.append((i, writable(1), 1, WRITE | (NEXT if i < SIZE - 1 else 0), i + 1))
            chain(queue, places)
        case "receive_buffer_of_4_gib":
            chain(queue, [(0, writable(212), 0xFFFFFFFF, WRITE, 0)])
        case _:
            raise AssertionError(name)
    return frame


@cocotb.test()
@cocotb.parametrize(name=list(WRONG))
async def wrong_chains_do_no_harm(dut: Any, name: str) -> None:
    setting = random_setting(dut, sum(name.encode()))
    bench, driver, memory, rng = setting.bench, setting.driver, setting.memory, setting.rng
    number, outcome = WRONG[name]
    way = "tx" if number == TRANSMIT else "rx"
    await setting.start()
    await driver.initialise((SIZE, SIZE), starts=(rng.randrange(65536), 65535))
    await bench.step(300)
    queue = driver.queues[number]
    start = queue.start
    frame = make_wrong(setting, name)
    driver.kick(number)
    if number == RECEIVE:
        setting.source.send(Frame(frame or b""))
    if outcome == "stops":
        await bench.until(lambda: driver.irq.counts[0] == 1, 20000)
        assert await driver.get("device_status") & NEEDS_RESET
        await bench.step(1000)
        assert driver.irq.counts[0] == 1
        assert not setting.sent
        # Frames for the driver are dropped, so that they hold up nobody.
        setting.source.send(Frame(rng.randbytes(100)))
        await bench.until(lambda: setting.source.idle, 2000)
        driver.kick(number)
        await bench.step(500)
        assert memory.idle
    else:
        await bench.until(lambda: queue.device_index == (start + 1) & 0xFFFF, 20000)
        await bench.step(300)
        slot = start % SIZE
        length = memory.read_int(0, queue.used + 4 + 8 * slot + 4, 4)
        counters = setting.counters()
        assert (
            counters[f"{way}_bad_chains"]
            == counters[f"{way}_dropped"]
            == int(outcome == "returned")
        )
        assert counters[f"{way}_frames"] == int(outcome == "passes")
        assert frame is not None
        if number == TRANSMIT:
            assert length == 0
            assert [each.data for each in setting.sent] == ([frame] if outcome == "passes" else [])
        else:
            assert length == (len(frame) + 12 if outcome == "passes" else 0)
        assert not await driver.get("device_status") & NEEDS_RESET
        # The next chain is not concerned.
        if number == TRANSMIT:
            good = rng.randbytes(99)
            address = driver.arena.take(111)
            memory.write(0, address, bytes(12) + good)
            chain(queue, [(9, address, 111, 0, 0)], head=9)
            driver.kick(number)
            await bench.until(lambda: bool(setting.sent) and setting.sent[-1].data == good, 5000)
        else:
            address = driver.arena.take(111)
            memory.allow(0, address, 111)
            chain(queue, [(9, address, 111, WRITE, 0)], head=9)
            driver.kick(number)
            setting.source.send(Frame(rng.randbytes(99)))
            await bench.until(lambda: queue.device_index == (start + 2) & 0xFFFF, 5000)
            assert memory.read(0, address, 12) == bytes(10) + b"\x01\x00"
    await driver.reset()
    await passes_frames(setting)


@cocotb.test()
@cocotb.parametrize(case=range(6))
async def random_rings_do_no_harm(dut: Any, case: int) -> None:
    """Rings of random content: the function writes only what a descriptor offers, and resets."""
    setting = random_setting(dut, 100 + case)
    bench, driver, memory, rng = setting.bench, setting.driver, setting.memory, setting.rng
    await setting.start()
    stopped = 0
    for _ in range(25):
        size = rng.choice((2, 8, 32))
        await driver.initialise((size, size))
        buffers = [driver.arena.take(rng.randrange(1, 3000)) for _ in range(8)]
        for queue in driver.queues:
            wild = rng.choice((0.0, 0.02, 0.3))
            for place in range(size):
                address = rng.choice(buffers) + rng.choice((0, 0, 1, 64))
                if rng.random() < wild:
                    address = driver.arena.unmapped()
                length = rng.choice((0, 1, 11, 12, 13, 64, 300, 1600, 9300))
                if rng.random() < wild:
                    length = rng.randrange(1 << 32)
                flags = rng.choice((0, NEXT)) | (WRITE if queue is driver.queues[0] else 0)
                if rng.random() < wild:
                    flags = rng.randrange(1 << 16)
                following = rng.randrange(size) if rng.random() > wild else rng.randrange(1 << 16)
                queue.describe(place, address, length, flags, following)
                if flags & WRITE:
                    memory.allow(0, address, min(length, 10000))
            for _ in range(rng.randrange(size + 1)):
                queue.offer(rng.randrange(size) if rng.random() > wild else rng.randrange(1 << 16))
            if rng.random() < 0.1:
                queue.avail_index = rng.randrange(1 << 16)
            queue.publish()
        for _ in range(6):
            setting.source.send(Frame(rng.randbytes(random_length(rng))))
        for number in range(2):
            driver.kick(number)
        await bench.step(rng.randrange(1500))
        stopped += bool(await driver.get("device_status") & NEEDS_RESET)
        await driver.reset()
    print(f"random rings: {stopped} of 25 needed a reset")
    await bench.until(lambda: setting.source.idle, 20000)
    await passes_frames(setting)
