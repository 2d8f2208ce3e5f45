"""Registers of a function: features, queues, status with reset, notifications and interrupts."""

from __future__ import annotations

from typing import Any

import cocotb
from packed import join
from streams import Bench
from virtio_driver import (
    ACKNOWLEDGE,
    COMMON,
    DEVICE,
    DRIVER,
    DRIVER_OK,
    FAILED,
    FEATURES_OK,
    ISR,
    MAC_FEATURE,
    NEEDS_RESET,
    NO_VECTOR,
    NOTIFY,
    POSITION,
    QUEUE,
    STATUS_FEATURE,
    VERSION_1,
    Bar,
)

TOP = "virtio_registers"
PARAMETERS: list[dict[str, int]] = [{}]
MAC = 0x0605040302F1
READY = ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK


class Registers:
    """Accesses by names, pulses that come out, and the rest of the function."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.bench = Bench(dut)
        self.bar = Bar(self.bench)
        self.kicks = [0, 0]
        self.irq = [0, 0, 0]
        self.bench.drivers.append(self)

    async def start(self) -> None:
        dut = self.dut
        dut.mac.value, dut.link_up.value, dut.quiet.value = MAC, 1, 1
        dut.error.value = dut.queue_interrupt.value = dut.used_index.value = 0
        await self.bench.start()
        self.irq = [0, 0, 0]

    def reset(self) -> None:
        pass

    def drive(self) -> None:
        pass

    def sample(self) -> None:
        for number in range(2):
            self.kicks[number] += int(self.dut.kick.value) >> number & 1
        for number in range(3):
            self.irq[number] += int(self.dut.irq.value) >> number & 1

    async def get(self, name: str) -> int:
        return await self.bar.read(*COMMON[name])

    async def set(self, name: str, value: int) -> None:
        await self.bar.write(*COMMON[name], value)
        await self.bench.step()  # the registers have changed

    async def pulse(self, name: str, value: int = 1) -> None:
        getattr(self.dut, name).value = value
        await self.bench.step()
        getattr(self.dut, name).value = 0
        await self.bench.step(2)

    async def negotiate(self, features: int, status: int = FEATURES_OK) -> bool:
        await self.set("device_status", ACKNOWLEDGE | DRIVER)
        for half in range(2):
            await self.set("driver_feature_select", half)
            await self.set("driver_feature", features >> 32 * half & 0xFFFFFFFF)
        await self.set("device_status", ACKNOWLEDGE | DRIVER | status)
        return bool(await self.get("device_status") & FEATURES_OK)

    async def ready(self) -> None:
        """Both queues are enabled, the driver is ready."""
        assert await self.negotiate(VERSION_1 | STATUS_FEATURE | MAC_FEATURE)
        for number in range(2):
            await self.set("queue_select", number)
            await self.set("queue_enable", 1)
        await self.set("device_status", READY)


@cocotb.test()
async def features_are_negotiated(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    offered = 0
    for half in range(2):
        await registers.set("device_feature_select", half)
        offered |= await registers.get("device_feature") << 32 * half
    assert offered == VERSION_1 | STATUS_FEATURE | MAC_FEATURE
    for select in (2, 3, 0x80000000):
        await registers.set("device_feature_select", select)
        assert await registers.get("device_feature_select") != 0
        assert await registers.get("device_feature") == 0
    for wrong in (0, MAC_FEATURE, VERSION_1 | 1, VERSION_1 | 1 << 33, VERSION_1 | 1 << 63):
        assert not await registers.negotiate(wrong)
        # Without FEATURES_OK the driver cannot be ready.
        await registers.set("device_status", READY)
        assert not await registers.get("device_status") & DRIVER_OK
        await registers.set("device_status", 0)
        await registers.bench.step(5)
    for right in (VERSION_1, VERSION_1 | MAC_FEATURE, offered):
        assert await registers.negotiate(right)
        # Features do not change after FEATURES_OK.
        await registers.set("driver_feature_select", 0)
        await registers.set("driver_feature", 0xFFFFFFFF)
        assert await registers.get("driver_feature") == right & 0xFFFFFFFF
        await registers.set("device_status", 0)
        await registers.bench.step(5)
        assert await registers.get("driver_feature") == 0


@cocotb.test()
async def queues_are_set_up(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    rng = registers.bench.rng
    assert await registers.get("num_queues") == 2
    assert await registers.negotiate(VERSION_1)
    expected = []
    for number in range(2):
        await registers.set("queue_select", number)
        assert await registers.get("queue_select") == number
        assert await registers.get("queue_size") == 256
        assert await registers.get("queue_enable") == 0
        assert await registers.get("queue_notify_off") == number
        for wrong in (0, 3, 100, 257, 512, 0x8000):
            await registers.set("queue_size", wrong)
            assert await registers.get("queue_size") == 256
        size = rng.choice((2, 16, 128))
        await registers.set("queue_size", size)
        places = {}
        for name in ("desc", "driver", "device"):
            places[name] = rng.randrange(1 << 60) * 16
            await registers.set(f"queue_{name}", places[name])
            assert await registers.get(f"queue_{name}") == places[name]
        start = rng.randrange(1 << 16)
        await registers.bar.write(POSITION + 4 * number, 4, start)
        assert await registers.bar.read(POSITION + 4 * number, 2) == start
        await registers.set("queue_enable", 1)
        assert await registers.get("queue_enable") == 1
        # An enabled queue keeps its setup.
        for name, (_, bytes_) in COMMON.items():
            if name in ("queue_size", "queue_desc", "queue_driver", "queue_device"):
                before = await registers.get(name)
                await registers.set(name, 64 if bytes_ == 2 else rng.randrange(1 << 64))
                assert await registers.get(name) == before
        await registers.bar.write(POSITION + 4 * number, 4, 1)
        await registers.set("queue_enable", 0)
        assert await registers.get("queue_enable") == 1
        expected.append(QUEUE.pack(size=size, start=start, **places))
    assert int(dut.receive_queue.value) == expected[0]
    assert int(dut.transmit_queue.value) == expected[1]
    assert int(dut.run.value) == 0
    await registers.set("device_status", READY)
    assert int(dut.run.value) == 3
    for none in (2, 3, 0xFFFF):
        await registers.set("queue_select", none)
        assert await registers.get("queue_size") == 0
        await registers.set("queue_desc", 1 << 40)
        assert await registers.get("queue_desc") == 0
    dut.used_index.value = join([0x1234, 0xFFFF], 16)
    await registers.bench.step()
    assert await registers.bar.read(POSITION, 2) == 0x1234
    assert await registers.bar.read(POSITION + 4, 2) == 0xFFFF


@cocotb.test()
async def one_queue_may_run_alone(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    assert await registers.negotiate(VERSION_1)
    await registers.set("queue_select", 1)
    await registers.set("queue_enable", 1)
    await registers.set("device_status", READY)
    assert int(dut.run.value) == 2


@cocotb.test()
async def reset_waits_until_nothing_is_under_way(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    await registers.ready()
    dut.used_index.value = join([0x1111, 0x2222], 16)
    await registers.bench.step(3)
    dut.quiet.value = 0
    await registers.set("device_status", 0)
    assert int(dut.run.value) == 0
    for _ in range(30):
        assert await registers.get("device_status") == READY
        # Accesses until the end of the reset have no effect.
        await registers.set("queue_select", 1)
        await registers.set("device_status", ACKNOWLEDGE)
        registers.kicks = [0, 0]
        await registers.bar.write(NOTIFY, 2, 0)
        assert registers.kicks == [0, 0]
    dut.quiet.value = 1
    await registers.bench.step(3)
    assert await registers.get("device_status") == 0
    assert await registers.get("queue_select") == 0
    for number in range(2):
        await registers.set("queue_select", number)
        assert await registers.get("queue_enable") == 0
        assert await registers.get("queue_size") == 256
        # The index at the reset is kept in the upper half.
        assert (
            await registers.bar.read(POSITION + 4 * number, 4) == (0x11110000, 0x22220000)[number]
        )


@cocotb.test()
async def interrupts_and_isr(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    for name, number in (("config_msix_vector", None), ("queue_msix_vector", 0),
                         ("queue_msix_vector", 1)):  # fmt: skip
        if number is not None:
            await registers.set("queue_select", number)
        assert await registers.get(name) == NO_VECTOR
        await registers.set(name, 3)  # there are three vectors
        assert await registers.get(name) == NO_VECTOR
        await registers.set(name, 2 - (number or 0))
        assert await registers.get(name) == 2 - (number or 0)
    assert int(dut.irq_vector.value) == join([2, 2, 1], 16)
    await registers.ready()
    assert int(dut.irq_pin.value) == 0
    await registers.pulse("queue_interrupt", 1)
    assert registers.irq == [0, 1, 0]
    assert int(dut.irq_pin.value) == 1
    await registers.pulse("queue_interrupt", 2)
    assert registers.irq == [0, 1, 1]
    assert await registers.bar.read(ISR, 1) == 1
    assert await registers.bar.read(ISR, 1) == 0
    assert int(dut.irq_pin.value) == 0


@cocotb.test()
async def configuration_changes_are_counted(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    bar = registers.bar
    found = 0
    for byte in range(6):
        found |= await bar.read(DEVICE + byte, 1) << 8 * byte
    assert found == MAC
    assert await bar.read(DEVICE + 6, 2) == 1
    generation = await registers.get("config_generation")
    dut.link_up.value = 0
    await registers.bench.step(3)
    assert registers.irq == [0, 0, 0]  # no driver
    assert await registers.get("config_generation") == generation + 1
    await registers.ready()
    dut.link_up.value = 1
    await registers.bench.step(3)
    assert registers.irq == [1, 0, 0]
    assert await bar.read(ISR, 1) == 2
    dut.mac.value = MAC ^ 1
    await registers.bench.step(3)
    assert await bar.read(DEVICE, 4) == (MAC ^ 1) & 0xFFFFFFFF
    assert await registers.get("config_generation") == generation + 3


@cocotb.test()
async def error_needs_a_reset(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    await registers.pulse("error")  # no queue runs: nothing to do with a driver
    assert await registers.get("device_status") == 0
    await registers.ready()
    await registers.pulse("error")
    assert registers.irq == [1, 0, 0]
    assert int(dut.run.value) == 0
    assert await registers.get("device_status") == READY | NEEDS_RESET
    await registers.set("device_status", READY | FAILED)  # the driver cannot clear it
    assert await registers.get("device_status") == READY | NEEDS_RESET | FAILED
    assert int(dut.run.value) == 0
    await registers.set("device_status", 0)
    await registers.bench.step(5)
    assert await registers.get("device_status") == 0
    await registers.ready()
    assert int(dut.run.value) == 3


@cocotb.test()
async def notifications_reach_their_queue(dut: Any) -> None:
    registers = Registers(dut)
    await registers.start()
    await registers.bar.write(NOTIFY, 2, 0)
    await registers.bar.write(NOTIFY + 4, 2, 1)
    await registers.bar.write(NOTIFY + 4, 4, 1)
    await registers.bar.write(NOTIFY + 8, 2, 2)
    assert registers.kicks == [1, 2]
    # Another function is selected, or nothing is.
    dut.bar_select.value = 0
    dut.bar_address.value, dut.bar_write.value = NOTIFY, 1
    await registers.bench.step(3)
    assert registers.kicks == [1, 2]
