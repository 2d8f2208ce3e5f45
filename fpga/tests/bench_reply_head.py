"""The head of a reply, with what follows it, is a frame that memcached could have sent."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import frames
from cocotb.triggers import Timer
from memcached import Operation

TOP = "reply_head"
PARAMETERS = [{}]


@cocotb.test()
async def equals_a_frame_of_the_server(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(400):
        header, with_flags = rng.random() < 0.5, rng.random() < 0.5
        client = (f"10.{rng.randrange(256)}.0.{rng.randrange(256)}", rng.randrange(1, 1 << 16))
        macs = {"client_mac": rng.randbytes(6), "server_mac": rng.randbytes(6)}
        request_id = rng.getrandbits(16)
        reply = Operation(
            rng.randrange(256),
            rng.randbytes(rng.choice((0, 4, 250))),
            rng.randbytes(4) if with_flags else b"",
            rng.randbytes(rng.choice((0, 8, 1000))),
            rng.getrandbits(32),
            rng.getrandbits(64),
            rng.getrandbits(16),
            0x81,
        )
        request = frames.udp_frame(
            frames.datagram(bytes(30), request_id=request_id, header=header), client=client, **macs
        )
        built = frames.udp_frame(
            frames.datagram(reply.encode(), request_id=request_id, header=header),
            client=client,
            response=True,
            **macs,
        )
        # It must not be fragmented; checksums are added later.
        wanted = bytearray(built)
        wanted[20] = 0x40
        wanted[24:26] = wanted[40:42] = b"\0\0"
        dut.enable.value = 1
        dut.request.value = int.from_bytes(request[:64].ljust(64, b"\xee"), "little")
        dut.udp_header.value = int(header)
        dut.opcode.value = reply.opcode
        dut.status.value = reply.status
        dut.opaque.value = int.from_bytes(reply.opaque.to_bytes(4, "big"), "little")
        dut.cas.value = int.from_bytes(reply.cas.to_bytes(8, "big"), "little")
        dut.with_flags.value = int(with_flags)
        dut.flags.value = int.from_bytes(reply.extras or rng.randbytes(4), "little")
        dut.key_bytes.value = len(reply.key)
        dut.value_bytes.value = len(reply.value)
        await Timer(1, "ns")
        head = int(dut.head.value).to_bytes(96, "little")
        length = int(dut.head_length.value)
        assert length == (74 if header else 66) + len(reply.extras)
        assert head[:length] == wanted[:length]
        assert head[length:] == bytes(96 - length)
        assert int(dut.frame_length.value) == length + len(reply.key) + len(reply.value)
