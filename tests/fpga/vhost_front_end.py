"""A front end of vhost-user: it shares memory with a card, and drives its rings itself."""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Sequence

from tests.waiting import PATIENCE_S, until

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_NUM, SET_ADDR, SET_BASE, GET_BASE, SET_KICK, SET_CALL = 8, 9, 10, 11, 12, 13
GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES, SET_ENABLE, GET_CONFIG = 15, 16, 18, 24
VERSION_1, PROTOCOL_FEATURES = 1 << 32, 1 << 30
REPLY_ACK = 1 << 3
RECEIVE, TRANSMIT = 0, 1

GUEST, USER = 0x1_0000_0000, 0x7F00_0000_0000
"""Addresses of the memory for the card and in messages."""
MEMORY = 1 << 20
SIZE = 16
"""Entries of a ring."""
_RINGS = 0x2000
"""Memory of the rings of a queue."""
_BUFFERS = 2 * _RINGS
BUFFER = 2048
HEADER = 12


class FrontEnd:
    """A connection to a card, with memory of its own."""

    def __init__(self, path: str) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(PATIENCE_S)
        self.connection.connect(path)
        self.file = os.memfd_create("guest")
        os.truncate(self.file, MEMORY)
        self.memory = mmap.mmap(self.file, MEMORY)
        self.kicks = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        self.calls = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        self.next = [0, 0]
        """Index of the next available entry of each queue."""
        self.seen = [0, 0]
        """Index up to which returned entries were taken."""

    def __enter__(self) -> FrontEnd:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.memory.close()
        for each in (self.file, *self.kicks, *self.calls):
            os.close(each)

    # ---- messages ------------------------------------------------------------------------------
    def send(self, code: int, body: bytes = b"", files: Sequence[int] = (), flags: int = 1) -> None:
        head = struct.pack("=III", code, flags, len(body))
        socket.send_fds(self.connection, [head + body], list(files))

    def reply(self) -> bytes:
        """The body of the next reply."""
        _, flags, size = struct.unpack("=III", self._receive(12))
        assert flags & 7 == 5
        return self._receive(size)

    def _receive(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.connection.recv(size - len(found))
            assert more, "the card has closed the connection"
            found += more
        return found

    def ask(self, code: int, body: bytes = b"") -> bytes:
        self.send(code, body)
        return self.reply()

    def number(self, code: int) -> int:
        (found,) = struct.unpack("=Q", self.ask(code))
        return int(found)

    def is_closed(self) -> bool:
        """Waits for the end of the connection or of `PATIENCE_S`."""
        try:
            while self.connection.recv(4096):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    # ---- set-up ----------------------------------------------------------------------------------
    def set_up(self, base: int = 0) -> None:
        """Starts both queues at an index."""
        self.send(SET_OWNER)
        features = self.number(GET_FEATURES)
        assert features & VERSION_1
        self.send(SET_FEATURES, struct.pack("=Q", VERSION_1 | PROTOCOL_FEATURES))
        self.set_memory()
        for queue in (RECEIVE, TRANSMIT):
            self.set_up_queue(queue, base)

    def set_memory(self) -> None:
        region = struct.pack("=IIQQQQ", 1, 0, GUEST, MEMORY, USER, 0)
        self.send(SET_MEM_TABLE, region, [self.file])

    def set_up_queue(self, queue: int, base: int) -> None:
        self.next[queue] = self.seen[queue] = base
        for ring in (self._available(queue), self._used(queue)):
            struct.pack_into("=HH", self.memory, ring, 0, base)
        self.send(SET_NUM, struct.pack("=II", queue, SIZE))
        self.send(SET_BASE, struct.pack("=II", queue, base))
        start = USER + queue * _RINGS
        used, available = USER + self._used(queue), USER + self._available(queue)
        self.send(SET_ADDR, struct.pack("=IIQQQQ", queue, 0, start, used, available, 0))
        self.send(SET_CALL, struct.pack("=Q", queue), [self.calls[queue]])
        self.send(SET_KICK, struct.pack("=Q", queue), [self.kicks[queue]])
        self.send(SET_ENABLE, struct.pack("=II", queue, 1))

    def stop(self, queue: int) -> int:
        """Stops a queue; returns the index at which it would go on."""
        found, index = struct.unpack("=II", self.ask(GET_BASE, struct.pack("=II", queue, 0)))
        assert found == queue
        return int(index)

    # ---- rings -----------------------------------------------------------------------------------
    def _available(self, queue: int) -> int:
        return queue * _RINGS + 0x400

    def _used(self, queue: int) -> int:
        return queue * _RINGS + 0x800

    def returned(self, queue: int) -> int:
        """The index in the used ring."""
        (index,) = struct.unpack_from("=H", self.memory, self._used(queue) + 2)
        return int(index)

    def offer(self, queue: int, content: bytes = b"") -> None:
        """Offers a buffer: `content` to send, or room for a frame. Waits for a free entry."""
        until(lambda: (self.next[queue] - self.returned(queue)) % 65536 != SIZE, "an entry is free")
        slot = self.next[queue] % SIZE
        buffer = _BUFFERS + (queue * SIZE + slot) * BUFFER
        self.memory[buffer : buffer + len(content)] = content
        length, flags = (len(content), 0) if content else (BUFFER, 2)
        entry = struct.pack("=QIHH", GUEST + buffer, length, flags, 0)
        self.memory[queue * _RINGS + 16 * slot : queue * _RINGS + 16 * slot + 16] = entry
        struct.pack_into("=H", self.memory, self._available(queue) + 4 + 2 * slot, slot)
        self.next[queue] = (self.next[queue] + 1) % 65536
        struct.pack_into("=H", self.memory, self._available(queue) + 2, self.next[queue])
        os.eventfd_write(self.kicks[queue], 1)

    def transmit(self, frame: bytes) -> None:
        self.offer(TRANSMIT, bytes(HEADER) + frame)

    def receive(self) -> bytes:
        """The next frame, if buffers were offered."""
        until(lambda: self.returned(RECEIVE) != self.seen[RECEIVE], "a frame comes")
        slot = self.seen[RECEIVE] % SIZE
        self.seen[RECEIVE] = (self.seen[RECEIVE] + 1) % 65536
        at = self._used(RECEIVE) + 4 + 8 * slot
        identity, length = struct.unpack_from("=II", self.memory, at)
        buffer = _BUFFERS + identity * BUFFER
        return bytes(self.memory[buffer + HEADER : buffer + length])
