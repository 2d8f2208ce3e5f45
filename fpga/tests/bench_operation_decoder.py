"""What the decoder says of operations, well formed and spoiled, against the rules in Python."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import memcached
from cocotb.triggers import Timer
from memcached import HEADER
from packed import OPERATION

TOP = "operation_decoder"
PARAMETERS = [{}]
READS = {0x00, 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x17, 0x1B}
GETS = {memcached.GET, memcached.GETQ, memcached.GETK, memcached.GETKQ}
QUIET = {0x09, 0x0D, *range(0x11, 0x17), 0x18, 0x19, 0x1A, 0x1E, 0x24}
STORES = {0x01, 0x02, 0x03, 0x11, 0x12, 0x13}
TOUCHES = {0x1C, 0x1D, 0x1E, 0x23, 0x24}
COUNTS = {0x05, 0x06, 0x15, 0x16}


def expected(data: bytes, remaining: int) -> dict[str, int]:
    """The decoded operation; `data` has at least 32 bytes."""
    magic, opcode, key, extras, kind, status, body, _, cas = HEADER.unpack_from(data)
    first, second = data[24:28], data[28:32]
    response, get, flush = magic == 0x81, opcode in GETS, opcode in (0x08, 0x18)
    fits = remaining >= 24 and body <= remaining - 24 and key + extras <= body
    mutation = opcode not in READS and not flush
    key_ok = 1 <= key <= 250
    in_datagram = remaining >= 24 and body <= remaining - 24
    if response:
        ok = fits and kind == 0
    else:
        ok = fits and magic == 0x80
        # Authentication and what came later may have no key.
        ok = ok and (not mutation or key_ok or (key == 0 and opcode > 0x1B))
        ok = ok and (not flush or (key == 0 and extras == body and extras in (0, 4)))
        ok = ok and (not get or (key_ok and extras == 0 and key == body))
        mutation = mutation and key != 0
    return {
        "ok": ok,
        "refused": magic != 0x80
        or remaining < 24
        or (opcode <= 0x24 and (opcode in READS or in_datagram)),
        "last": body == remaining - 24,
        "response": response,
        "opcode": opcode,
        "key_length": key & 255,
        "extras_length": extras,
        "body_length": body & 0xFFFF,
        "status_ok": status == 0,
        "opaque": int.from_bytes(data[12:16], "little"),
        "cas": int.from_bytes(data[16:24], "little"),
        "flags": int.from_bytes(first, "little"),
        "get": get,
        "echoes_key": opcode in (memcached.GETK, memcached.GETKQ),
        "quiet": opcode in QUIET,
        "flush": flush,
        "delayed_flush": flush and extras == 4 and first != bytes(4),
        "mutation": mutation,
        "storable": (opcode, extras, cas, second, kind) == (memcached.SET, 8, 0, bytes(4), 0)
        and body <= 488,
        "expiring": (opcode in TOUCHES and first != bytes(4))
        or (opcode in STORES and second != bytes(4))
        or opcode in COUNTS
        or opcode > 0x24,
    }


@cocotb.test()
async def equals_the_rules(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    seen = dict.fromkeys(OPERATION.fields, 0)
    for trial in range(6000):
        opcode = rng.randrange(256) if rng.random() < 0.1 else trial % 0x40
        extras = rng.choice((0, 0, 4, 8, 8, 20))
        if trial % 5 == 0:
            opcode, extras = memcached.SET, 8
        elif opcode == memcached.FLUSH:
            extras = 4
        key = rng.choice((0, 1, 4, 250, 251, 256, 0xFFFF, rng.randrange(300)))
        value = rng.choice((0, 0, 8, 480, 488, rng.randrange(1400)))
        body = extras + key + value if rng.random() < 0.9 else rng.getrandbits(32)
        if rng.random() < 0.3:
            extras, key = 0, rng.choice((1, 4, 250))
            body = key
        data = HEADER.pack(
            rng.choice((0x80, 0x80, 0x80, 0x81, rng.randrange(256))),
            opcode,
            key,
            extras,
            rng.choice((0, 0, 0, 1)),
            rng.choice((0, 0, 0, 1, 0x82, 0x100)),
            body,
            rng.getrandbits(32),
            rng.choice((0, 0, rng.getrandbits(64), 1 << rng.randrange(64))),
        )
        data += rng.choice((bytes(4), bytes(3) + b"\1", b"\1" + bytes(3), rng.randbytes(4)))
        data += rng.choice((bytes(4), bytes(4), bytes(3) + b"\1", b"\1" + bytes(3)))
        remaining = rng.choice((24 + body, 24 + body, 24 + body + 30, 23, 0, rng.getrandbits(16)))
        remaining &= 0xFFFF
        dut.enable.value = 1
        dut.window.value = int.from_bytes(data, "little")
        dut.remaining.value = remaining
        await Timer(1, "ns")
        found = OPERATION.unpack(int(dut.operation.value))
        wanted = {name: int(value) for name, value in expected(data, remaining).items()}
        assert found == wanted, f"{data.hex()} with {remaining} bytes"
        for name in seen:
            seen[name] += bool(found[name])
    assert all(count > 20 for count in seen.values()), seen
