"""The key-value controller and frames that a kernel drops: they are sent on, and nothing else."""

from __future__ import annotations

import frames
from bench_kv_controller import KEY, MUTATIONS, fill, test, value_of
from kv_lab import OPAQUE, OTHER_SERVER, QUERY, RESPONSE, Ends, Lab
from memcached import FLUSH, SET, Operation, get, store

TOP = "kv_controller"
PARAMETERS = [{"FUNCTIONS": 2, "INDEX_BITS": 8, "MISS_ENTRIES": 16}]


def flipped(frame: bytes, bit: int) -> bytes:
    changed = bytearray(frame)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def damaged(frame: bytes) -> dict[str, bytes]:
    """The frame damaged in each way that a kernel notices."""
    bare = frame[:40] + b"\0\0" + frame[42:]
    end = 14 + int.from_bytes(frame[16:18], "big")
    return {
        "ip-checksum": flipped(frame, 8 * 24),
        "ip-checksum-alone": flipped(bare, 8 * 25),
        "udp-checksum": flipped(frame, 8 * 41 + 7),
        "client-port": flipped(frame, 8 * (37 if frame[34:36] == b"\x2b\xcb" else 35) + 7),
        "last-bit": flipped(frame, 8 * end - 1),
        "cut-short": frame[: end - 1],
        "cut-short-without-checksum": bare[: end - 1],
        "udp-length": bare[:38] + b"\xff\xff" + bare[40:],
    }


async def passes_corrupt(lab: Lab, data: bytes, kind: int, *, host: bool = False) -> None:
    """A frame goes on unchanged, is counted, and changes nothing."""
    await lab.bench.step(2)
    expected = {**lab.counts, "corrupt": lab.counts["corrupt"] + 1}
    for name, rises in (("query", kind == QUERY), ("response", kind == RESPONSE)):
        expected[name] += rises
    expected["forwarded"] += not host
    out = await lab.passes(data, kind)
    assert (out.data, bool(out.beside["m_host"])) == (data, host)
    await lab.bench.step(3)
    assert lab.counts == expected


async def is_hit(lab: Lab, ends: Ends | None = None) -> bool:
    return await lab.request(get(KEY, opaque=lab.opaque()), ends=ends or Ends()) is not None


@test()
async def corrupt_get_is_not_answered(lab: Lab) -> None:
    await fill(lab)
    frame = lab.frame(lab.payload(get(KEY, opaque=lab.opaque())), Ends())
    for data in damaged(frame).values():
        await passes_corrupt(lab, data, QUERY)
    for bit in range(14 * 8, 8 * len(frame)):
        await lab.passes(flipped(frame, bit), QUERY)
    assert lab.counts["hit"] == lab.counts["replied"] == 1
    assert await is_hit(lab)


@test()
async def corrupt_mutation_changes_nothing(lab: Lab) -> None:
    await fill(lab)
    for mutation in (*MUTATIONS.values(), Operation(FLUSH)):
        for operations in ([mutation], [get(b"other"), mutation, get(KEY)]):
            frame = lab.frame(lab.payload(*operations), Ends())
            for data in damaged(frame).values():
                await passes_corrupt(lab, data, QUERY)
    assert await is_hit(lab)


@test()
async def corrupt_reply_does_not_fill(lab: Lab) -> None:
    opaque = lab.opaque()
    lab.dut.lifetime.value = 1 << 20  # the request waits for its reply all the time
    assert await lab.request(get(KEY, opaque=opaque)) is None
    frame = lab.frame(lab.payload(value_of(KEY, opaque)), Ends(), response=True)
    for data in damaged(frame).values():
        await passes_corrupt(lab, data, RESPONSE, host=True)
    for bit in range(14 * 8, 8 * len(frame)):
        await lab.passes(flipped(frame, bit), RESPONSE)
        assert lab.counts["filled"] == 0, bit
    await lab.reply(value_of(KEY, opaque))
    assert await is_hit(lab)


@test()
async def corrupt_acknowledgement_is_none(lab: Lab) -> None:
    await fill(lab)
    opaque = lab.opaque()
    assert await lab.request(store(KEY, b"new", opaque=opaque)) is None
    done = Operation(SET, opaque=opaque, cas=9, magic=0x81)
    for data in damaged(lab.frame(lab.payload(done), Ends(), response=True)).values():
        await passes_corrupt(lab, data, RESPONSE, host=True)
    assert not await is_hit(lab)
    await lab.reply(done)
    assert await is_hit(lab)


@test()
async def corrupt_unseen_mutation_ends_nothing(lab: Lab) -> None:
    await fill(lab)
    udp, tcp = frames.udp(b"set key 0 0 1"), frames.tcp(b"set key 0 0 1")
    for packet in (
        frames.ipv4(tcp, frames.TCP),
        frames.ipv4(tcp, frames.TCP, options=bytes([1] * 12)),
        frames.ipv4(udp, frames.UDP, options=bytes([1] * 4)),
    ):
        for vlan in (None, 5):
            frame = frames.ethernet(packet, vlan=vlan)
            start = 14 if vlan is None else 18
            for at in (start + 10, start + 16, len(frame) - 8):
                await passes_corrupt(lab, flipped(frame, 8 * at + 1), OPAQUE)
    fragment = frames.ethernet(frames.ipv4(udp[:16], frames.UDP, more_fragments=True))
    await passes_corrupt(lab, flipped(fragment, 8 * 24), OPAQUE)
    assert await is_hit(lab)
    # A good one does.
    await lab.passes(fragment, OPAQUE)
    assert not await is_hit(lab)


@test()
async def a_datagram_without_checksum_is_used(lab: Lab) -> None:
    def bare(frame: bytes) -> bytes:
        return frame[:40] + b"\0\0" + frame[42:]

    opaque = lab.opaque()
    asked = bare(lab.frame(lab.payload(get(KEY, opaque=opaque)), Ends()))
    out = await lab.passes(asked, QUERY)
    assert (out.data, out.beside["m_host"]) == (asked, 0)
    reply = lab.frame(lab.payload(value_of(KEY, opaque)), Ends(), response=True)
    await lab.passes(bare(reply), RESPONSE)
    out = await lab.passes(asked, QUERY)
    assert out.beside["m_host"]
    assert out.data[40:42] != b"\0\0"


# ---- servers, and requests that may not travel ---------------------------------------------------
@test()
async def mutation_at_another_address_of_a_server_invalidates(lab: Lab) -> None:
    """Two addresses may be those of one memcached."""
    other = Ends(server=OTHER_SERVER)
    for mutation in MUTATIONS.values():
        await fill(lab)
        changed = Operation(**{**mutation.__dict__, "opaque": lab.opaque()})
        await lab.request(changed, ends=other)
        assert not await is_hit(lab), mutation
        # Some mutations forbid fills of a key for ever.
        await lab.bench.reset()
        await lab.bench.until(lambda: bool(lab.dut.initialized.value), 20000)


@test()
async def request_at_the_end_of_its_time_to_live_passes(lab: Lab) -> None:
    await fill(lab)
    for operation in (get(KEY, opaque=lab.opaque()), store(KEY, b"new", opaque=lab.opaque())):
        payload = lab.payload(operation)
        packet = frames.ipv4(frames.udp(payload), frames.UDP, ttl=0)
        data = frames.ethernet(packet)
        out = await lab.passes(data, QUERY)
        assert (out.data, out.beside["m_host"]) == (data, 0)
        await lab.bench.step(2)
        if operation.opcode != SET:
            assert await is_hit(lab)
    # A server may have taken the SET, but nobody vouches for it.
    assert lab.counts["stored"] == 0
    assert not await is_hit(lab)
