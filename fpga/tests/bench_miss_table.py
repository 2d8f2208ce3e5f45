"""The miss table against a model: opaque reuse, ambiguity, expiry, slots in use by a reply."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from packed import (
    MISS_ENTRY,
    MISS_INSERT,
    MISS_MARK,
    MISS_READ_KEY,
    MISS_RELEASE,
    MISS_TAG,
    MISS_TAKE,
    MISS_WRITE_KEY,
    start,
)

TOP = "miss_table"
ENTRIES, MARKS = 8, 16
LAKE = {"TAG_BITS": 3, "MATCH_BITS": MISS_TAG.width, "ENTRY_BITS": MISS_ENTRY.width}
OWNERS = 4
PARAMETERS = [
    {"ENTRIES": ENTRIES, "MARKS": MARKS, **LAKE},
    {"ENTRIES": ENTRIES, "MARKS": OWNERS * MARKS, "OWNERS": OWNERS, **LAKE},
]
LIFETIME = 20
WRAP = 1 << 32
ANSWERED = (MISS_INSERT, MISS_TAKE, MISS_READ_KEY)


def mark_hash(tag: int) -> int:
    found = 0
    while tag:
        found, tag = found ^ tag % MARKS, tag // MARKS
    return found


class Model:
    def __init__(self) -> None:
        self.live: dict[int, dict[str, Any]] = {}
        self.held: set[int] = set()
        self.keys: dict[tuple[int, int], int] = {}
        self.marks: dict[int, int] = {}
        self.expired = 0

    def advance(self, now: int) -> None:
        for slot in [slot for slot, each in self.live.items() if now - each["time"] > LIFETIME]:
            del self.live[slot]
            self.expired += 1

    def equal(self, tag: int) -> list[int]:
        return sorted(slot for slot, each in self.live.items() if each["tag"] == tag)

    def full(self) -> bool:
        return len(self.live) + len(self.held) == ENTRIES

    def mark(self, now: int, tag: int) -> None:
        self.marks[mark_hash(tag)] = now
        for slot in self.equal(tag):
            self.live[slot]["ambiguous"] = True

    def ambiguous(self, now: int, tag: int) -> bool:
        marked = self.marks.get(mark_hash(tag))
        return bool(self.equal(tag)) or (marked is not None and now - marked <= LIFETIME)


class Driver:
    """Gives commands, one after the other, and returns their responses."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng, self.now = dut, rng, 0

    async def start(self, now: int) -> None:
        self.now = now
        dut = self.dut
        self.owner, self.owners = 0, len(dut.quota) // 9
        quota = sum(ENTRIES << 9 * owner for owner in range(self.owners))
        await start(dut, now=now % WRAP, lifetime=LIFETIME, s_valid=0, s_owner=0, quota=quota)
        for _ in range(2 * MARKS * self.owners):
            if dut.s_ready.value:
                break
            await RisingEdge(dut.clk)

    async def advance(self, units: int) -> None:
        """Moves the clock; the sweep has passed when this ends."""
        for _ in range(units):
            self.now += 1
            self.dut.now.value = self.now % WRAP
            for _ in range(2 * ENTRIES):
                await RisingEdge(self.dut.clk)

    async def __call__(self, command: int, **fields: Any) -> dict[str, Any]:
        dut = self.dut
        tag = self.rng.randrange(5)
        dut.s_valid.value = 1
        dut.s_tag.value = tag
        dut.s_owner.value = self.owner
        dut.s_command.value = command
        dut.s_slot.value = fields.get("slot", 0)
        dut.s_window.value = fields.get("window", 0)
        dut.s_match.value = fields.get("tag", 0)
        dut.s_entry.value = MISS_ENTRY.pack(**fields.get("entry", {}))
        dut.s_key.value = fields.get("key", 0)
        for _ in range(10):
            await RisingEdge(dut.clk)
            assert not dut.s_response_valid.value
            if dut.s_ready.value:
                break
        else:
            raise AssertionError("not accepted")
        dut.s_valid.value = 0
        if command not in ANSWERED:
            return {}
        await RisingEdge(dut.clk)
        assert not dut.s_response_valid.value
        await RisingEdge(dut.clk)
        assert dut.s_response_valid.value
        assert int(dut.s_response_tag.value) == tag
        found = {
            name: int(getattr(dut, f"s_response_{name}").value)
            for name in ("hit", "ambiguous", "slot", "entry", "key")
        }
        return {**found, "entry": MISS_ENTRY.unpack(found["entry"])}


def tag_of(**fields: int) -> int:
    return MISS_TAG.pack(**{"opcode": 0, "client_address": 1, "client_port": 2, **fields})


@cocotb.test()
async def commands_agree_with_the_model(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    run = Driver(dut, rng)
    await run.start(WRAP - 150)
    model = Model()
    seen = dict.fromkeys(("hit", "missed", "ambiguous", "clear", "full"), 0)
    for _ in range(6000):
        if rng.random() < 0.06:
            await run.advance(rng.choice((1, 2, 11)))
            model.advance(run.now)
        opaques = 3 if rng.random() < 0.3 else 40
        tag = tag_of(
            opaque=rng.randrange(opaques), client_port=rng.choice((2, 3)), opcode=rng.choice((0, 1))
        )
        choice = rng.random()
        if choice < 0.35:
            entry = MISS_ENTRY.unpack(rng.getrandbits(MISS_ENTRY.width))
            got = await run(MISS_INSERT, tag=tag, entry=entry)
            assert got["hit"] == int(not model.full())
            if not got["hit"]:
                seen["full"] += 1
                model.mark(run.now, tag)
                continue
            ambiguous = model.ambiguous(run.now, tag)
            assert got["ambiguous"] == int(ambiguous)
            for slot in model.equal(tag):
                model.live[slot]["ambiguous"] = True
            slot = got["slot"]
            assert slot not in model.live
            assert slot not in model.held
            model.live[slot] = {
                "tag": tag,
                "entry": entry,
                "ambiguous": ambiguous,
                "time": run.now,
            }
            for window in rng.sample(range(8), rng.randrange(4)):
                model.keys[slot, window] = rng.getrandbits(256)
                await run(MISS_WRITE_KEY, slot=slot, window=window, key=model.keys[slot, window])
        elif choice < 0.7:
            if model.live and rng.random() < 0.5:
                tag = rng.choice(list(model.live.values()))["tag"]
            found = model.equal(tag)
            got = await run(MISS_TAKE, tag=tag)
            assert got["hit"] == int(bool(found))
            seen["hit" if found else "missed"] += 1
            if found:
                each = model.live.pop(found[0])
                assert (got["slot"], got["entry"]) == (found[0], each["entry"])
                assert got["ambiguous"] == int(each["ambiguous"])
                seen["ambiguous" if each["ambiguous"] else "clear"] += 1
                model.held.add(found[0])
        elif choice < 0.85 and model.held:
            slot = rng.choice(sorted(model.held))
            for window in range(8):
                if (slot, window) in model.keys:
                    got = await run(MISS_READ_KEY, slot=slot, window=window)
                    assert got["key"] == model.keys[slot, window]
            await run(MISS_RELEASE, slot=slot)
            model.held.remove(slot)
        elif choice > 0.98:
            await run(MISS_MARK, tag=tag)
            model.mark(run.now, tag)
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert int(dut.live_entries.value) == len(model.live)
    assert run.now > WRAP
    assert min(seen.values()) > 40, seen
    assert model.expired > 40


@cocotb.test()
async def the_client_is_part_of_the_tag(dut: Any) -> None:
    run = Driver(dut, random.Random(1))
    await run.start(0)
    tags = [
        tag_of(opaque=7),
        tag_of(opaque=7, client_address=9),
        tag_of(opaque=7, client_port=9),
        tag_of(opaque=7, opcode=9),
    ]
    for number, tag in enumerate(tags):
        got = await run(MISS_INSERT, tag=tag, entry={"hash": number})
        assert (got["hit"], got["ambiguous"]) == (1, 0)
    for number, tag in reversed(list(enumerate(tags))):
        got = await run(MISS_TAKE, tag=tag)
        assert (got["hit"], got["ambiguous"], got["entry"]["hash"]) == (1, 0, number)
        assert not (await run(MISS_TAKE, tag=tag))["hit"]


@cocotb.test()
async def a_reused_tag_is_ambiguous_until_its_requests_are_answered(dut: Any) -> None:
    run = Driver(dut, random.Random(1))
    await run.start(0)
    tag = tag_of(opaque=0)
    assert not (await run(MISS_INSERT, tag=tag))["ambiguous"]
    assert (await run(MISS_INSERT, tag=tag))["ambiguous"]
    for _ in range(2):
        got = await run(MISS_TAKE, tag=tag)
        assert (got["hit"], got["ambiguous"]) == (1, 1)
        await run(MISS_RELEASE, slot=got["slot"])
    assert not (await run(MISS_INSERT, tag=tag))["ambiguous"]


@cocotb.test()
async def a_full_table_keeps_its_entries_and_marks_the_tag(dut: Any) -> None:
    run = Driver(dut, random.Random(1))
    await run.start(0)
    for number in range(ENTRIES):
        assert (await run(MISS_INSERT, tag=tag_of(opaque=number)))["hit"]
    late = tag_of(opaque=100)
    assert not (await run(MISS_INSERT, tag=late))["hit"]
    taken = await run(MISS_TAKE, tag=tag_of(opaque=3))
    assert (taken["hit"], taken["slot"]) == (1, 3)
    assert not (await run(MISS_INSERT, tag=late))["hit"], "the slot is not released"
    await run(MISS_RELEASE, slot=3)
    got = await run(MISS_INSERT, tag=late)
    assert (got["hit"], got["ambiguous"], got["slot"]) == (1, 1, 3)


@cocotb.test()
async def entries_and_marks_end_with_the_lifetime(dut: Any) -> None:
    run = Driver(dut, random.Random(1))
    await run.start(WRAP - 5)
    await run(MISS_INSERT, tag=tag_of(opaque=1))
    await run(MISS_MARK, tag=tag_of(opaque=2))
    await run.advance(LIFETIME)
    assert (await run(MISS_TAKE, tag=tag_of(opaque=1)))["hit"]
    got = await run(MISS_INSERT, tag=tag_of(opaque=2))
    assert got["ambiguous"]
    assert (await run(MISS_TAKE, tag=tag_of(opaque=2)))["ambiguous"]
    await run(MISS_INSERT, tag=tag_of(opaque=3))
    await run.advance(LIFETIME + 1)
    assert not (await run(MISS_TAKE, tag=tag_of(opaque=3)))["hit"]
    assert not (await run(MISS_INSERT, tag=tag_of(opaque=2)))["ambiguous"]


@cocotb.test()
async def owners_keep_their_slots_and_marks(dut: Any) -> None:
    run = Driver(dut, random.Random(1))
    await run.start(0)
    if run.owners == 1:
        return
    dut.quota.value = sum(quota << 9 * owner for owner, quota in enumerate((2, 3, 2, 1)))
    # Owner 0 wants all slots, and has marks for all tags that found none.
    stored = [(await run(MISS_INSERT, tag=tag_of(opaque=number)))["hit"] for number in range(60)]
    assert stored == [1, 1] + [0] * 58
    for run.owner, quota in ((1, 3), (2, 2), (3, 1)):
        for number in range(quota):
            got = await run(MISS_INSERT, tag=tag_of(opaque=100 + number, client_port=run.owner))
            assert (got["hit"], got["ambiguous"]) == (1, 0)
        assert not (await run(MISS_INSERT, tag=tag_of(opaque=200)))["hit"]
    # A slot counts until it is released, or its entry expires.
    run.owner = 0
    got = await run(MISS_TAKE, tag=tag_of(opaque=0))
    assert not (await run(MISS_INSERT, tag=tag_of(opaque=300)))["hit"]
    await run(MISS_RELEASE, slot=got["slot"])
    assert (await run(MISS_INSERT, tag=tag_of(opaque=301)))["hit"]
    assert not (await run(MISS_INSERT, tag=tag_of(opaque=302)))["hit"]
    await run.advance(LIFETIME + 1)
    for number in range(2):
        assert (await run(MISS_INSERT, tag=tag_of(opaque=400 + number)))["hit"]
    assert not (await run(MISS_INSERT, tag=tag_of(opaque=402)))["hit"]
