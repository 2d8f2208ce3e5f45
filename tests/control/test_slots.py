"""Slots: allocation of the cells of the value arrays."""

from random import Random

import pytest

from netkv.control.slots import ARRAYS, Slot, Slots


def test_values_share_a_row_as_in_the_paper() -> None:
    slots: Slots[str] = Slots(4)
    assert slots.allocate("A", 3) == Slot(0, 0b0000_0111)
    assert slots.allocate("B", 2) == Slot(0, 0b0001_1000)
    assert slots.allocate("C", 4) == Slot(1, 0b0000_1111)
    assert slots.allocate("D", 3) == Slot(0, 0b1110_0000)
    assert slots.free_cells == 4 * 8 - 12


def test_first_row_with_room_is_taken() -> None:
    slots: Slots[int] = Slots(8)
    for owner in range(8):
        slots.allocate(owner, 8)
    slots.release(5)
    slots.release(2)
    assert slots.allocate(100, 1) == Slot(2, 1)
    assert slots.allocate(101, 8) == Slot(5, 0xFF)
    assert slots.allocate(102, 8) is None


def test_allocation_in_full_arrays_fails() -> None:
    slots: Slots[int] = Slots(1)
    assert slots.allocate(0, 8) is not None
    assert slots.allocate(1, 1) is None
    assert slots.free_cells == 0


def test_released_cells_are_reused_and_a_second_release_ignored() -> None:
    slots: Slots[int] = Slots(1)
    slots.allocate(0, 8)
    slots.release(0)
    slots.release(0)
    assert slots.free_cells == 8
    assert slots.allocate(1, 8) == Slot(0, 0xFF)


def test_plan_lists_the_values_to_move() -> None:
    slots: Slots[str] = Slots(2)
    slots.allocate("five", 5)
    slots.allocate("three", 3)
    slots.allocate("four", 4)
    slots.release("three")  # 3 free beside "five", 4 beside "four"
    slots.allocate("one", 1, not_in=0)  # now 3 and 3
    assert slots.allocate("new", 4) is None
    assert slots.plan_move(4) == ("one",)


def test_plan_is_empty_when_no_move_helps() -> None:
    slots: Slots[int] = Slots(2)
    slots.allocate(0, 7)
    slots.allocate(1, 7)
    assert slots.plan_move(2) == ()


def test_plan_is_empty_when_there_is_room() -> None:
    slots: Slots[int] = Slots(2)
    slots.allocate(0, 7)
    assert slots.plan_move(8) == ()


@pytest.mark.parametrize("seed", range(10))
def test_no_cell_is_shared_or_lost(seed: int) -> None:
    random = Random(seed)
    slots: Slots[int] = Slots(50)
    owners: dict[int, Slot] = {}
    for step in range(3000):
        if owners and random.random() < 0.48:
            gone = random.choice(list(owners))
            slots.release(gone)
            del owners[gone]
        else:
            chunks = random.randint(1, 8)
            avoided = random.choice(list(owners.values())).row if owners and step % 3 == 0 else None
            slot = slots.allocate(step, chunks, not_in=avoided)
            rows: dict[int, int] = {}
            for other in owners.values():
                rows[other.row] = rows.get(other.row, 0) | other.bitmap
            fitting = [
                row
                for row in range(50)
                if row != avoided and 8 - rows.get(row, 0).bit_count() >= chunks
            ]
            if slot is None:
                assert not fitting
            else:
                assert slot.row == min(fitting)
                assert not rows.get(slot.row, 0) & slot.bitmap
                assert slot.chunks == chunks
                owners[step] = slot
        assert len(slots) == len(owners)
        taken = sum(slot.chunks for slot in owners.values())
        assert slots.free_cells == 50 * ARRAYS - taken


@pytest.mark.parametrize("seed", range(10))
def test_planned_moves_can_be_carried_out_and_make_room(seed: int) -> None:
    random = Random(seed)
    planned = 0
    for _ in range(200):
        slots: Slots[int] = Slots(6)
        for owner in range(60):
            slots.allocate(owner, random.randint(1, 5))
        for owner in range(60):
            if owner in slots and random.random() < 0.3:
                slots.release(owner)
        chunks = random.randint(2, 8)
        movers = slots.plan_move(chunks)
        if not movers:
            continue
        planned += 1
        moved = [slots.slot(owner) for owner in movers]
        for number, slot in enumerate(moved):
            assert slot is not None
            assert slots.allocate(1000 + number, slot.chunks, not_in=slot.row) is not None
        for owner in movers:
            slots.release(owner)
        assert slots.allocate(2000, chunks) is not None
    assert planned > 10


@pytest.mark.parametrize("chunks", [0, 9])
def test_impossible_size_is_an_error(chunks: int) -> None:
    with pytest.raises(ValueError, match="1 to 8"):
        Slots[str](1).allocate("a", chunks)


def test_impossible_number_of_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 to 65536"):
        Slots(0)
