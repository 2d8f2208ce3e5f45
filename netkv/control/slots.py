"""Allocation of the cells of the switch's value arrays to cached keys.

A value of n chunks takes one cell in each of n of the 8 arrays, all at one index, the row (Jin et
al., SOSP 2017, slide "Variable-Length On-Chip Key-Value Cache"). Values with disjoint bitmaps share
a row. Allocation is first fit. If there are enough free cells but no row has enough of them,
`plan_move` chooses values to move to other rows.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import Generic, TypeVar

ARRAYS = 8
_ALL = (1 << ARRAYS) - 1
MAX_ROWS = 65_536
ROWS_TRIED = 16  # rows that `plan_move` examines for each number of free cells

Owner = TypeVar("Owner", bound=Hashable)


@dataclass(slots=True, unsafe_hash=True)  # not `frozen`: one is made for each cached key
class Slot:
    """Cells of one value: the arrays in `bitmap` (bit i is array i) at index `row`."""

    row: int
    bitmap: int

    @property
    def chunks(self) -> int:
        """How many chunks of 16 bytes the slot holds."""
        return self.bitmap.bit_count()


class Slots(Generic[Owner]):
    """First-fit allocation of slots to owners.

    Rows are kept in one pool per number of free cells; each pool gives its lowest row first, so
    rows fill from the front and an allocation costs no scan over the rows.
    """

    def __init__(self, rows: int = MAX_ROWS) -> None:
        """`rows`: how many rows of the arrays may be used, 1 to 65,536."""
        if not 1 <= rows <= MAX_ROWS:
            raise ValueError(f"{rows} rows: the value arrays have 1 to {MAX_ROWS}.")
        self.rows = rows
        self._used: dict[int, int] = {}
        self._owners: dict[int, dict[Owner, Slot]] = {}
        self._slots: dict[Owner, Slot] = {}
        self._pools = [_Pool() for _ in range(ARRAYS + 1)]
        self._untouched = 0  # rows from here on were never used
        self._cells = 0  # in use

    def __contains__(self, owner: Owner) -> bool:
        return owner in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    def slot(self, owner: Owner) -> Slot | None:
        """The slot of `owner`, if it has one."""
        return self._slots.get(owner)

    def room_without(self, owner: Owner) -> int:
        """How many chunks would fit into the row of `owner` if its slot were released."""
        row = self._slots[owner].row
        return ARRAYS - self._used[row].bit_count() + self._slots[owner].chunks

    @property
    def free_cells(self) -> int:
        """Number of cells that no slot has."""
        return self.rows * ARRAYS - self._cells

    def allocate(self, owner: Owner, chunks: int, not_in: int | None = None) -> Slot | None:
        """Give `owner` a slot of `chunks` cells (1 to 8) in the first row with room.

        Returns None if no row has room. `not_in`: a row to skip.
        """
        if owner in self._slots:
            raise ValueError(f"{owner!r} has a slot already.")
        row = self._first_row(chunks, not_in)
        if row is None:
            return None
        return self._take(owner, row, chunks)

    def release(self, owner: Owner) -> None:
        """Free the slot of `owner`; nothing happens if it has none."""
        slot = self._slots.pop(owner, None)
        if slot is None:
            return
        del self._owners[slot.row][owner]
        self._cells -= slot.chunks
        self._set_used(slot.row, self._used[slot.row] & ~slot.bitmap)

    def clear(self) -> None:
        """Free all slots."""
        self.__init__(self.rows)  # type: ignore[misc]

    def plan_move(self, chunks: int) -> tuple[Owner, ...]:
        """Owners to move out of one row, so that it has room for `chunks` cells.

        If they move in this order, each by `allocate(…, not_in=its row)`, all find room. Among the
        rows examined, the one with the fewest cells to move is chosen. The result is empty if there
        is room already, or if no moves help.
        """
        if self._first_row(chunks) is not None:
            return ()
        best: tuple[int, tuple[Owner, ...]] | None = None
        for free in range(chunks - 1, 0, -1):
            for row in self._pools[free].lowest(ROWS_TRIED):
                leaving = self._leaving(row, chunks - free)
                moved = sum(self._slots[owner].chunks for owner in leaving)
                if (best is None or moved < best[0]) and self._fit_elsewhere(row, leaving):
                    best = (moved, leaving)
        return best[1] if best else ()

    # ------------------------------------------------------------------------- helpers

    def _first_row(self, chunks: int, not_in: int | None = None) -> int | None:
        if not 1 <= chunks <= ARRAYS:
            raise ValueError(f"{chunks} chunks: a cached value has 1 to {ARRAYS}.")
        first = self._untouched if self._untouched < self.rows else None
        for pool in self._pools[chunks:]:
            row = pool.first(not_in)
            if row is not None and (first is None or row < first):
                first = row
        return first

    def _take(self, owner: Owner, row: int, chunks: int) -> Slot:
        used = self._used.get(row, 0)
        bitmap = _lowest(~used & _ALL, chunks)
        slot = self._slots[owner] = Slot(row, bitmap)
        self._cells += chunks
        self._owners.setdefault(row, {})[owner] = slot
        self._set_used(row, used | bitmap)
        return slot

    def _free_bits(self, row: int, chunks: int) -> int:
        """The lowest free arrays of a row that has room."""
        return _lowest(~self._used.get(row, 0) & _ALL, chunks)

    def _set_used(self, row: int, used: int) -> None:
        if row == self._untouched:
            self._untouched += 1
        else:
            self._pools[ARRAYS - self._used[row].bit_count()].remove(row)
        self._used[row] = used
        self._pools[ARRAYS - used.bit_count()].add(row)

    def _leaving(self, row: int, cells: int) -> tuple[Owner, ...]:
        """The smallest values of `row` which together free `cells` cells, largest first."""
        leaving: list[Owner] = []
        for owner, slot in sorted(self._owners[row].items(), key=lambda item: item[1].chunks):
            if cells <= 0:
                break
            leaving.append(owner)
            cells -= slot.chunks
        return tuple(reversed(leaving))

    def _fit_elsewhere(self, row: int, leaving: tuple[Owner, ...]) -> bool:
        """Whether all of them find room in other rows: allocates the cells and undoes it."""
        undo: list[tuple[int, int]] = []
        for owner in leaving:
            chunks = self._slots[owner].chunks
            other = self._first_row(chunks, not_in=row)
            if other is None:
                break
            undo.append((other, self._used[other]))
            self._set_used(other, self._used[other] | self._free_bits(other, chunks))
        for other, used in reversed(undo):
            self._set_used(other, used)
        return len(undo) == len(leaving)


class _Pool:
    """A set of rows that finds its lowest in logarithmic time."""

    def __init__(self) -> None:
        self._rows: set[int] = set()
        self._heap: list[int] = []  # every row of the set, and rows that have left it

    def add(self, row: int) -> None:
        self._rows.add(row)
        heappush(self._heap, row)

    def remove(self, row: int) -> None:
        self._rows.remove(row)
        if len(self._heap) > 2 * len(self._rows) + 64:
            self._heap = sorted(self._rows)

    def first(self, without: int | None = None) -> int | None:
        """The lowest row of the pool other than `without`."""
        while self._heap and self._heap[0] not in self._rows:
            heappop(self._heap)
        if not self._heap:
            return None
        if self._heap[0] == without:
            return next((row for row in self.lowest(2) if row != without), None)
        return self._heap[0]

    def lowest(self, count: int) -> list[int]:
        """The `count` lowest rows of the pool, or all."""
        found: list[int] = []
        while self._heap and len(found) < count:
            row = heappop(self._heap)
            if row in self._rows and (not found or found[-1] != row):
                found.append(row)
        for row in found:
            heappush(self._heap, row)
        return found


@cache
def _lowest(bits: int, count: int) -> int:
    """The `count` lowest of these bits."""
    lowest = [1 << i for i in range(ARRAYS) if bits >> i & 1]
    return sum(lowest[:count])
