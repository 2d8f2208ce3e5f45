"""Random operations of memcached's binary protocol over UDP, the same for every run of a seed.

An operation may depend on earlier answers (`Load.learn`): it repeats the CAS of an item. Two
servers that get the same operations in the same order give the same answers, byte by byte, CAS
included.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.fpga.packets import memcached

HEADER, Operation = memcached.HEADER, memcached.Operation
decode, get, store = memcached.decode, memcached.get, memcached.store

GETS = (0x00, 0x00, 0x00, 0x00, 0x00, 0x0C, 0x0C, 0x09, 0x0D)
SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, FLUSH, NOOP = 1, 2, 3, 4, 5, 6, 8, 0x0A
APPEND, PREPEND, TOUCH, GAT, GATQ, GATK, GATKQ = 0x0E, 0x0F, 0x1C, 0x1D, 0x1E, 0x23, 0x24
QUIET = {1: 0x11, 2: 0x12, 3: 0x13, 4: 0x14, 5: 0x15, 6: 0x16, 8: 0x18, 0x0E: 0x19, 0x0F: 0x1A}
"""The quiet form of an operation."""
VERSION, UNKNOWN = 0x0B, 0x55
NEVER, LONG, PAST, SOON = 0, 3600, 30 * 24 * 3600 + 1, 1
"""Expiries. A server counts large numbers from 1970, so PAST has expired at once."""
DO_NOT_CREATE = 0xFFFF_FFFF
"""Expiry of INCREMENT and DECREMENT for which a missing key is an error."""

MAX_KEY, MAX_VALUE = 250, 1364
KEYS = 40
"""Keys in use at a time."""
NEW_KEY_EVERY = 20
"""Operations from one new key to the next."""
MORTALS = 12
"""Items that expire soon, before each wait."""
Mix = Literal["udp", "emu"]
_HEADER_BYTES = 24
_EMU_BYTES, _EMU_LINES = 64, 1024
"""Bytes of key and value that a line of Emu's table holds, and lines of the table."""
_PAUSE_AT = (0.3, 0.6, 0.9)
"""The shares of the operations after which items expire."""


@dataclass(frozen=True)
class Step:
    """What is sent at once, and whose answers come before the next step."""

    datagrams: Sequence[bytes]
    """Payloads, memcached's frame header included."""
    operations: int
    client: int = 0
    """Which socket sends it."""
    stream: bytes = b""
    """ASCII commands over TCP, if they are not empty; then there are no datagrams."""
    pause: bool = False
    """Items with the expiry SOON must expire before the next step."""


@dataclass
class Load:
    """The random operations of a seed."""

    seed: int
    operations: int
    mix: Mix = "udp"
    streams: bool = False
    """Whether some commands go over TCP."""
    clients: int = 3
    gets: int = 0
    """GETs so far that stood alone in their datagram."""
    _cas: dict[bytes, int] = field(default_factory=dict)
    _resting: list[bytes] = field(default_factory=list)
    """Keys whose items expire soon."""
    _asked: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Keys by request and opaque, of the step under way."""
    _lines: set[int] = field(default_factory=set)
    """Lines of Emu's table that have had a key."""
    _last_id: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.seed} {self.mix}")
        self._keys: list[bytes] = []
        while len(self._keys) < KEYS:
            self._add_key()

    # ---- steps --------------------------------------------------------------------------------
    def steps(self) -> Iterator[Step]:
        """All of them. The answers of each are to be given to `learn` before the next."""
        done = 0
        pauses = [int(share * self.operations) for share in _PAUSE_AT] if self.mix == "udp" else []
        while done < self.operations:
            if pauses and done >= pauses[0]:
                del pauses[0]
                for step in self._expiries():
                    done += step.operations
                    yield step
                continue
            step = self._emu() if self.mix == "emu" else self._step()
            if (done + step.operations) // NEW_KEY_EVERY > done // NEW_KEY_EVERY:
                self._add_key()
                while len(self._keys) > KEYS:
                    self._keys.pop(self._random.randrange(len(self._keys)))
            done += step.operations
            yield step
        if self.mix == "udp":
            yield from self._delayed_flush()

    def learn(self, answers: Iterable[bytes]) -> None:
        """Takes the answers of a step: the datagrams of one server."""
        for answer in answers:
            request, _, total, _ = struct.unpack_from(">HHHH", answer)
            if total != 1 or len(answer) < 8 + _HEADER_BYTES or answer[8] != 0x81:
                continue
            for reply in decode(answer[8:]):
                key = self._asked.get((request, reply.opaque))
                if key is not None and reply.cas:
                    self._cas[key] = reply.cas

    def _step(self) -> Step:
        draw = self._random.random()
        if draw < 0.64:
            return self._single(self._get())
        if draw < 0.88:
            return self._single(self._mutation())
        if draw < 0.92:
            return self._several()
        if draw < 0.996:
            # Reads of one client that do not wait for each other.
            burst = [self._datagram([self._get(quiet=False)]) for _ in range(6)]
            return Step(burst, len(burst), self._client())
        return self._other()

    def _other(self) -> Step:
        """What a cache of single binary operations does not see through."""
        choice = self._random.randrange(5 if self.streams else 4)
        if choice == 0:
            opcode = self._random.choice([FLUSH, QUIET[FLUSH]])
            return self._single(Operation(opcode, opaque=self._opaque()))
        if choice == 1:
            opcode = self._random.choice([NOOP, VERSION, UNKNOWN])
            return self._single(Operation(opcode, opaque=self._opaque()))
        text = self._ascii()
        if choice == 4:
            return Step([], 1, stream=text)
        return Step([self._frame_header() + text], 1, self._client())

    def _expiries(self) -> Iterator[Step]:
        """Items that expire soon, a pause, and reads of them."""
        for _ in range(MORTALS):
            key = self._keys.pop(self._random.randrange(len(self._keys)))
            # What a cache stores now must not be served after the pause.
            yield self._single(self._set(SET, key, NEVER))
            yield self._single(get(key, opaque=self._opaque()))
            opcode = self._random.choice([SET, QUIET[SET], TOUCH, GAT, GATK])
            yield self._single(
                self._touch(opcode, key, SOON) if opcode >= TOUCH else self._set(opcode, key, SOON)
            )
            self._resting.append(key)
        yield Step([], 0, pause=True)
        for key in self._resting:
            yield self._single(get(key, opaque=self._opaque()))
        self._keys += self._resting
        self._resting.clear()

    def _delayed_flush(self) -> Iterator[Step]:
        """Everything stored so far expires; a cache cannot know when. The last steps."""
        flush = Operation(FLUSH, extras=struct.pack(">I", SOON), opaque=self._opaque())
        yield self._single(flush)
        yield Step([], 0, pause=True)
        for key in self._keys:
            yield self._single(get(key, opaque=self._opaque()))

    def _emu(self) -> Step:
        """One of the requests that Emu has, with key and value that an entry holds."""
        key, draw = self._key(), self._random.random()
        if draw < 0.6:
            return self._single(
                get(key, opcode=self._random.choice([0, 0, 0x0C]), opaque=self._opaque())
            )
        if draw < 0.9:
            size = self._random.randint(0, _EMU_BYTES - len(key))
            flags = self._random.getrandbits(32)
            value = self._repeated(size)
            return self._single(store(key, value, flags=flags, opaque=self._opaque()))
        return self._single(Operation(DELETE, key, opaque=self._opaque()))

    # ---- operations ----------------------------------------------------------------------------
    def _get(self, *, quiet: bool = True) -> memcached.Operation:
        opcode = self._random.choice(GETS if quiet else GETS[:7])
        return get(self._key(), opcode=opcode, opaque=self._opaque())

    def _mutation(self) -> memcached.Operation:
        key = self._key()
        draw = self._random.random()
        # A cache that cannot know the expiry of an item has to leave it out for good. So most keys
        # never get one.
        calm = zlib.crc32(key) & 3
        expiry = NEVER if calm else self._random.choices([NEVER, LONG, PAST], [10, 1, 1])[0]
        if draw < 0.45:
            return self._set(SET, key, expiry)
        kinds = [SET, ADD, REPLACE, DELETE, APPEND, PREPEND]
        if not calm:
            kinds += [INCREMENT, DECREMENT, TOUCH, GAT, GATQ, GATK, GATKQ]
        opcode = self._random.choice(kinds)
        if opcode >= TOUCH:
            return self._touch(opcode, key, expiry)
        shown = QUIET[opcode] if self._random.random() < 0.3 else opcode
        if opcode in (SET, ADD, REPLACE):
            return self._set(shown, key, expiry)
        if opcode in (INCREMENT, DECREMENT):
            expiry = self._random.choice([NEVER, LONG, DO_NOT_CREATE])
            delta = self._random.choice([0, 1, 7, 2**63])
            extras = struct.pack(">QQI", delta, self._random.randrange(1000), expiry)
            return Operation(shown, key, extras, opaque=self._opaque(), cas=self._old_cas(key))
        value = b"" if opcode == DELETE else self._value()[:100]
        return Operation(shown, key, b"", value, self._opaque(), self._old_cas(key))

    def _set(self, opcode: int, key: bytes, expiry: int) -> memcached.Operation:
        return store(
            key,
            self._value(),
            opcode=opcode,
            flags=self._random.choice([0, 1, 0xDEADBEEF]),
            expiry=expiry,
            opaque=self._opaque(),
            cas=self._old_cas(key),
        )

    def _touch(self, opcode: int, key: bytes, expiry: int) -> memcached.Operation:
        return Operation(opcode, key, struct.pack(">I", expiry), opaque=self._opaque())

    def _old_cas(self, key: bytes) -> int:
        """0 most of the time; else the CAS of the item, or a wrong one."""
        draw = self._random.random()
        known = self._cas.get(key, 0)
        return 0 if draw < 0.8 else known if draw < 0.9 else known + 1

    def _ascii(self) -> bytes:
        key = self._random.choice([each for each in self._keys if each.isalnum()])
        value = b"7" * self._random.randrange(1, 60)
        commands = [
            b"set %b 5 0 %d\r\n%b\r\n" % (key, len(value), value),
            b"append %b 0 0 %d\r\n%b\r\n" % (key, len(value), value),
            b"delete %b\r\n" % key,
            b"incr %b 3\r\n" % key,
            b"touch %b %d\r\n" % (key, PAST),
            b"gets %b\r\n" % key,
            b"no such command\r\n",
        ]
        return self._random.choice(commands)

    # ---- parts ---------------------------------------------------------------------------------
    def _single(self, operation: memcached.Operation) -> Step:
        self.gets += operation.opcode in GETS
        return Step([self._datagram([operation])], 1, self._client())

    def _several(self) -> Step:
        count = self._random.randint(2, 6)
        found = [
            self._get() if self._random.random() < 0.5 else self._mutation() for _ in range(count)
        ]
        # The reply to NOOP is the last one.
        found.append(Operation(NOOP, opaque=self._opaque()))
        while sum(len(each.encode()) for each in found) > 1400:
            del found[0]
        return Step([self._datagram(found)], len(found), self._client())

    def _datagram(self, operations: Sequence[memcached.Operation]) -> bytes:
        header = self._frame_header()
        for each in operations:
            self._asked[self._last_id, each.opaque] = each.key
        return header + b"".join(each.encode() for each in operations)

    def _frame_header(self) -> bytes:
        self._last_id = (self._last_id + 1) & 0xFFFF
        if self._last_id == 0:
            self._asked.clear()
        return struct.pack(">HHHH", self._last_id, 0, 1, 0)

    def _client(self) -> int:
        return self._random.randrange(self.clients)

    def _opaque(self) -> int:
        """Now and then 0, or one that was used before."""
        used = self._random.random() < 0.2
        return self._random.randrange(3) if used else self._random.getrandbits(32)

    def _key(self) -> bytes:
        # The keys at the front are popular.
        return self._keys[int(len(self._keys) * self._random.random() ** 2)]

    def _add_key(self) -> None:
        longest = 32 if self.mix == "emu" else MAX_KEY
        size = self._random.choice(
            [4, self._random.randint(1, 32), self._random.randint(1, longest)]
        )
        if self._random.random() < 0.5 or not self._keys:
            key = bytes(
                self._random.choice(b"abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(size)
            )
        else:
            key = self._random.randbytes(size)
        if self.mix == "emu":
            # The table of Emu is direct mapped: each key has a line of its own.
            line = zlib.crc32(key) % _EMU_LINES
            if line in self._lines:
                return
            self._lines.add(line)
        if key not in self._keys and key not in self._resting:
            self._keys.insert(self._random.randrange(len(self._keys) + 1), key)

    def _value(self) -> bytes:
        draw = self._random.random()
        if draw < 0.2:
            return b"%d" % self._random.randrange(2**40)
        # Half of the items fit into the largest chunk of LaKe.
        top = 32 if draw < 0.45 else 400 if draw < 0.8 else MAX_VALUE
        size = self._random.randint(0, top)
        return self._repeated(size)

    def _repeated(self, size: int) -> bytes:
        """A value that repeats itself, which keeps recordings small."""
        return (self._random.randbytes(7) * (size // 7 + 1))[:size]


def is_last(request: bytes, answers: Sequence[bytes]) -> bool:
    """Whether the answers, in order, are all that a server sends to a datagram."""
    if request[8:9] != b"\x80":
        return bool(answers)
    last = decode(request[8:])[-1]
    if last.opcode == NOOP:
        reply = HEADER.pack(0x81, NOOP, 0, 0, 0, 0, 0, last.opaque, 0)
        return bool(answers) and answers[-1][8:] == reply
    return bool(answers) and len(answers) >= struct.unpack_from(">H", answers[0], 4)[0]
