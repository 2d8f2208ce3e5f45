"""PEs get a bucket in the order of their frames; frames of other buckets do not wait."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import join, start

TOP = "scoreboard"
PARAMETERS = [{"PES": 5, "BUCKET_BITS": 30}, {"PES": 13, "BUCKET_BITS": 4}]


class Frame:
    def __init__(
        self,
        *,
        pe: int,
        bucket: int,
        covers_all: bool,
        reads: bool,
        declare_at: int,
        work: int,
    ) -> None:
        self.pe, self.bucket, self.covers_all, self.work = pe, bucket, covers_all, work
        self.reads = reads
        self.declare_at = declare_at  # cycle; negative: it ends then, and never declares
        self.declared: int | None = None  # cycle in which the declaration was first there
        self.granted: int | None = None


def blocks(earlier: Frame, frame: Frame, cycle: int) -> bool:
    if earlier.declared is None or earlier.declared >= cycle:
        return True
    same = earlier.bucket == frame.bucket and not (earlier.reads and frame.reads)
    return earlier.covers_all or frame.covers_all or same


@cocotb.test()
async def grants_follow_the_order_of_frames(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    pes, bits = len(dut.dispatch.value), PARAMETERS[len(dut.dispatch.value) == 13]["BUCKET_BITS"]
    await start(
        dut, dispatch=0, declare_valid=0, declare_all=0, declare_read=0, declare_bucket=0, finish=0
    )
    order: list[Frame] = []  # active, as dispatched
    quiet, granted_frames, at_once = 0, 0, 0
    for cycle in range(5000):
        # Inputs of this cycle.
        by_pe = {frame.pe: frame for frame in order}
        finishing = [
            frame
            for frame in order
            if (frame.granted is not None and cycle >= frame.granted + frame.work)
            or (frame.declare_at < 0 and cycle >= -frame.declare_at)  # it never declares
        ]
        finish = sum(1 << frame.pe for frame in finishing)
        free = [pe for pe in range(pes) if pe not in by_pe or finish >> pe & 1]
        new = None
        if free and rng.random() < 0.6:
            declare_at = cycle + rng.randrange(1, 12)
            new = Frame(
                pe=rng.choice(free),
                bucket=rng.randrange(4) if rng.random() < 0.6 else rng.getrandbits(bits),
                covers_all=rng.random() < 0.08,
                reads=rng.random() < 0.5,
                declare_at=-declare_at if rng.random() < 0.1 else declare_at,
                work=rng.randrange(15),
            )
        declaring = [
            frame
            for frame in order
            if frame.declare_at > 0 and cycle >= frame.declare_at and frame not in finishing
        ]
        for frame in declaring:
            if frame.declared is None:
                frame.declared = cycle
        buckets = [by_pe[pe].bucket if pe in by_pe else 0 for pe in range(pes)]
        dut.dispatch.value = 1 << new.pe if new else 0
        dut.declare_valid.value = sum(1 << frame.pe for frame in declaring)
        dut.declare_all.value = sum(1 << frame.pe for frame in declaring if frame.covers_all)
        dut.declare_read.value = sum(1 << frame.pe for frame in declaring if frame.reads)
        dut.declare_bucket.value = join(buckets, bits)
        dut.finish.value = finish
        await RisingEdge(dut.clk)
        # Registers as they were in this cycle.
        granted = int(dut.granted.value)
        for frame in order:
            assert granted >> frame.pe & 1 == (frame.granted is not None), (cycle, frame)
        for frame in finishing:
            order.remove(frame)
        # What the next cycle must show.
        for index, frame in enumerate(order):
            if frame.granted is not None or frame not in declaring:
                continue
            if not any(blocks(earlier, frame, cycle) for earlier in order[:index]):
                frame.granted = cycle + 1
                granted_frames += 1
                at_once += frame.granted == frame.declared + 1
        if new:
            order.append(new)
        quiet = 0 if finishing else quiet + 1
        assert quiet < 200, "no PE gets on"
    assert granted_frames > 500
    assert at_once > 100
