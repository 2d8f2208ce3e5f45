"""Rows of an SQLite file, read from the leaf pages of its tables, also if the file is damaged.

A query needs each page from the root of a table to a row. The leaf pages have whole rows, so a
damaged page costs the rows in it only. The format is https://www.sqlite.org/fileformat2.html:

    page     type 13 at byte 0 (at byte 100 of page 1), number of cells at 3, their places from 8
    cell     length of the payload, rowid, payload; what does not fit is a chain of overflow pages
    payload  length of its header, a type for each column, the values

The pages of the free list still have deleted rows, so they are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import TypeAlias

File: TypeAlias = bytes | mmap
Value: TypeAlias = int | float | str | bytes | None

HEADER = 100
"""Bytes of the file's header, at the beginning of page 1."""
_LEAF = 13
_INTEGERS = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of an integer by its type."""
_REAL, _ZERO, _ONE, _FIRST_BLOB = 7, 8, 9, 12


def rows(file: File, page_size: int) -> Iterator[tuple[int, list[Value]]]:
    """Rowid and values of each row, of all tables; rows that cannot be read are left out."""
    free = set(_free_pages(file, page_size))
    for number in range(1, len(file) // page_size + 1):
        start = (number - 1) * page_size
        head = start + (HEADER if number == 1 else 0)
        if file[head] != _LEAF or number in free:
            continue
        (cells,) = struct.unpack_from(">H", file, head + 3)
        for cell in range(min(cells, page_size // 2)):
            try:
                (place,) = struct.unpack_from(">H", file, head + 8 + 2 * cell)
                yield _row(file, page_size, start, start + place)
            except (IndexError, ValueError, struct.error):
                continue


def _free_pages(file: File, page_size: int) -> Iterator[int]:
    """The pages of the free list, as far as it can be read."""
    (trunk,) = struct.unpack_from(">I", file, 32)
    seen: set[int] = set()
    while 0 < trunk <= len(file) // page_size and trunk not in seen:
        seen.add(trunk)
        following, count = struct.unpack_from(">II", file, (trunk - 1) * page_size)
        count = min(count, page_size // 4 - 2)
        yield trunk
        yield from struct.unpack_from(f">{count}I", file, (trunk - 1) * page_size + 8)
        trunk = following


def _row(file: File, page_size: int, page: int, at: int) -> tuple[int, list[Value]]:
    length, at = _number(file, at)
    rowid, at = _number(file, at)
    return rowid, list(_values(_payload(file, page_size, page, at, length)))


def _payload(file: File, page_size: int, page: int, at: int, length: int) -> bytes:
    """The payload of a cell, with its overflow pages; raises `ValueError` if it is not whole."""
    if length > len(file):
        raise ValueError("longer than the file")
    local = length
    if length > page_size - 35:
        least = (page_size - 12) * 32 // 255 - 23
        local = least + (length - least) % (page_size - 4)
        local = local if local <= page_size - 35 else least
    if at + local > page + page_size:
        raise ValueError("beyond the page")
    found = bytearray(file[at : at + local])
    (overflow,) = struct.unpack_from(">I", file, at + local) if length > local else (0,)
    while len(found) < length:
        if not 0 < overflow <= len(file) // page_size:
            raise ValueError("the chain of overflow pages is broken")
        start = (overflow - 1) * page_size
        (overflow,) = struct.unpack_from(">I", file, start)
        found += file[start + 4 : start + page_size][: length - len(found)]
    return bytes(found)


def _values(payload: bytes) -> Iterator[Value]:
    """The values of a row; raises `ValueError` or `IndexError` if they are not whole."""
    end, at = _number(payload, 0)
    place = end
    while at < end:
        kind, at = _number(payload, at)
        if kind in (_ZERO, _ONE):
            yield kind - _ZERO
            continue
        length = (
            8 if kind == _REAL else _INTEGERS[kind] if kind < _REAL else (kind - _FIRST_BLOB) // 2
        )
        content = payload[place : place + length]
        if len(content) < length:
            raise ValueError("shorter than its header says")
        place += length
        if kind == 0:
            yield None
        elif kind == _REAL:
            yield struct.unpack(">d", content)[0]
        elif kind < _REAL:
            yield int.from_bytes(content, "big", signed=True)
        else:
            yield content.decode() if kind % 2 else content


def _number(data: File, at: int) -> tuple[int, int]:
    """A number of 1 to 9 bytes, and the place after it."""
    value = 0
    for length in range(1, 10):
        byte = data[at + length - 1]
        if length == 9:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, at + length
