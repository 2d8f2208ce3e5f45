"""LaKe does nothing with a frame that a kernel drops for a wrong checksum or wrong lengths, but
sends it on and counts it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.fpga.damage import DAMAGE, flipped, without_checksum
from tests.fpga.packets import Operation, get, memcached, store
from tests.schemes.lake.lake import CLIENT, HOST, OTHER, Lab, Reply
from tests.schemes.lake.test_lake_rules import FOREIGN, MUTATIONS

KEY, KEY2 = b"key1", b"key2"
FROM_MAC, ETHERNET, GROUP_BIT = range(48, 96), range(112), 7
"""Bits of a frame: the sender's address, and the header of Ethernet, which no checksum covers."""

damaged = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)


def passes_corrupt(lab: Lab, port: int, frame: bytes, to: int = HOST) -> None:
    """A frame that is sent on unchanged and counted as corrupt; nothing else changes."""
    names = ("corrupt", "hits", "misses", "filled", "stored", "visible", "epochs", "malformed")
    before = {name: lab.lake.read(name) for name in names}
    assert lab.lake.pass_frame(port, frame) == (to, frame)
    after = {name: lab.lake.read(name) for name in names}
    assert after == {**before, "corrupt": before["corrupt"] + 1}


def leaves(lab: Lab, port: int, frame: bytes) -> None:
    """A frame passes to one port, or with an unknown MAC address to several; or it is answered, if
    only the MAC address of its sender is wrong."""
    lab.lake.pass_frames([(port, frame)])
    lab.lake.design.step(200)
    lab.lake.design.tx()


def request_frame(lab: Lab, *operations: Operation) -> bytes:
    return lab.frame(CLIENT, b"".join(each.encode() for each in operations), request_id=9)


@damaged
def test_corrupt_get_is_not_answered(lab: Lab, damage: Callable[[bytes], bytes]) -> None:
    lab.fill(KEY, b"value")
    passes_corrupt(lab, CLIENT.lane, damage(request_frame(lab, get(KEY, opaque=5))))
    assert lab.is_hit(KEY)


@damaged
def test_corrupt_set_changes_nothing(lab: Lab, damage: Callable[[bytes], bytes]) -> None:
    """It is not stored, does not invalidate, and forbids no fill."""
    lab.fill(KEY, b"value")
    passes_corrupt(lab, CLIENT.lane, damage(request_frame(lab, store(KEY, b"other"))))
    assert lab.is_hit(KEY)
    lab.hold(KEY2, b"two")
    passes_corrupt(lab, CLIENT.lane, damage(request_frame(lab, store(KEY2, b"other"))))
    assert not lab.is_hit(KEY2)
    assert lab.is_hit(KEY2)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_corrupt_mutation_does_not_invalidate(lab: Lab, mutation: str) -> None:
    """Alone in its datagram, and as the second of three operations."""
    lab.fill(KEY, b"1")
    changed = MUTATIONS[mutation](KEY)
    for operations in ([changed], [get(b"other"), changed, Operation(memcached.NOOP)]):
        frame = request_frame(lab, *operations)
        passes_corrupt(lab, CLIENT.lane, DAMAGE["udp-checksum"](frame))
        passes_corrupt(lab, CLIENT.lane, DAMAGE["ip-checksum"](frame))
    assert lab.is_hit(KEY)


@damaged
def test_corrupt_reply_does_not_fill(lab: Lab, damage: Callable[[bytes], bytes]) -> None:
    lab.hold(KEY, b"value")
    (reply,) = lab.execute(lab.forwarded(get(KEY, opaque=3)))
    passes_corrupt(lab, HOST, damage(reply.frame), CLIENT.lane)
    filled = lab.lake.read("filled")
    # The request waits for its reply still.
    lab.deliver(reply)
    assert lab.lake.read("filled") == filled + 1
    assert lab.is_hit(KEY)


@damaged
def test_corrupt_acknowledgement_is_none(lab: Lab, damage: Callable[[bytes], bytes]) -> None:
    (reply,) = lab.execute(lab.forwarded(store(KEY, b"new", opaque=3)))
    passes_corrupt(lab, HOST, damage(reply.frame), CLIENT.lane)
    assert not lab.is_hit(KEY)
    visible = lab.lake.read("visible")
    lab.deliver(reply)
    assert lab.lake.read("visible") == visible + 1
    assert lab.is_hit(KEY)


@pytest.mark.parametrize("mutation", ["delete", "append", "touch"])
def test_corrupt_reply_to_a_mutation_ends_nothing(lab: Lab, mutation: str) -> None:
    """Fills stay forbidden until a good reply, or the end of the lifetime."""
    lab.fill(KEY, b"1")
    (reply,) = lab.execute(lab.forwarded(MUTATIONS[mutation](KEY)))
    passes_corrupt(lab, HOST, DAMAGE["udp-checksum"](reply.frame), CLIENT.lane)
    filled = lab.lake.read("filled")
    assert not lab.is_hit(KEY)
    assert not lab.is_hit(KEY)
    assert lab.lake.read("filled") == filled
    lab.settle([KEY])


def test_datagrams_without_a_checksum_are_used(lab: Lab) -> None:
    lab.hold(KEY, b"value")
    (reply,) = lab.execute(lab.forwarded(get(KEY, opaque=3)))
    lab.deliver(Reply(reply.client, without_checksum(reply.frame), reply.states, reply.sent))
    ask = without_checksum(request_frame(lab, get(KEY, opaque=4)))
    port, answer = lab.lake.pass_frame(CLIENT.lane, ask)
    assert port == CLIENT.lane
    assert answer[40:42] != b"\0\0"
    assert memcached.decode(answer[50:])[0].value == b"value"
    change = without_checksum(request_frame(lab, Operation(memcached.DELETE, KEY)))
    assert lab.lake.pass_frame(CLIENT.lane, change) == (HOST, change)
    assert not lab.is_hit(KEY)


CHECKED = {
    "tcp-ascii": 50,
    "tcp-binary": 16,
    "ip-options": 14 + 24 + 6,
    "vlan": 18 + 20 + 8,
    "long-frame": 1000,
    "udp-ascii": 60,
}
"""Kinds of unseen mutations whose checksum covers their payload, and a byte of it."""


@pytest.mark.parametrize("kind", CHECKED)
def test_unseen_mutation_with_a_wrong_checksum(lab: Lab, kind: str) -> None:
    lab.fill(KEY, b"value")
    for frame in FOREIGN[kind](lab, KEY):
        at = max(CHECKED[kind], 54) if "tcp" in kind else CHECKED[kind]
        passes_corrupt(lab, CLIENT.lane, flipped(frame, 8 * at + 3))
    assert lab.is_hit(KEY)


@pytest.mark.parametrize("kind", FOREIGN)
def test_unseen_mutation_with_a_wrong_ip_checksum(lab: Lab, kind: str) -> None:
    lab.fill(KEY, b"value")
    for frame in FOREIGN[kind](lab, KEY):
        start = 18 if kind == "vlan" else 14
        passes_corrupt(lab, CLIENT.lane, flipped(frame, 8 * (start + 10) + 3))
    assert lab.is_hit(KEY)


def test_get_with_any_bit_flipped_is_not_answered(lab: Lab) -> None:
    """But for the bits of the MAC address it comes from, which no checksum covers."""
    lab.fill(KEY, b"value")
    frame = request_frame(lab, get(KEY, opaque=5))
    for bit in range(8 * len(frame)):
        if bit == GROUP_BIT:
            continue  # a kernel may take such a frame
        changed = flipped(frame, bit)
        port, out = lab.lake.pass_frame(CLIENT.lane, changed)
        assert (port == CLIENT.lane) == (bit in FROM_MAC), bit
        assert out == changed or bit in FROM_MAC
    assert lab.is_hit(KEY)


def test_set_with_any_bit_flipped_changes_nothing(lab: Lab) -> None:
    lab.fill(KEY, b"value")
    frame = request_frame(lab, store(KEY, b"other", opaque=5))
    for bit in range(len(ETHERNET), 8 * len(frame)):
        changed = flipped(frame, bit)
        assert lab.lake.pass_frame(CLIENT.lane, changed) == (HOST, changed)
    assert lab.is_hit(KEY)
    assert lab.lake.read("stored") == lab.lake.read("invalidated") == 0


def test_reply_with_any_bit_flipped_does_not_fill(lab: Lab) -> None:
    lab.hold(KEY, b"value")
    # The request waits for its reply all the time.
    lab.lake.write("lifetime", 1 << 20)
    (reply,) = lab.execute(lab.forwarded(get(KEY, opaque=3)))
    for bit in range(len(ETHERNET), 8 * len(reply.frame)):
        changed = flipped(reply.frame, bit)
        assert lab.lake.pass_frame(HOST, changed) == (CLIENT.lane, changed)
        assert lab.lake.read("filled") == 0, bit
    lab.deliver(reply)
    assert lab.lake.read("filled") == 1
    assert lab.is_hit(KEY)


def test_bursts_do_not_break_the_cache(lab: Lab) -> None:
    """Random operations of two clients; a third of the frames get a burst of flipped bits."""
    rng = random.Random(7)
    keys = [b"%s%d" % (KEY, number) for number in range(5)]

    def burst(frame: bytes) -> bytes:
        start, end = rng.randrange(8 * len(frame)), 8 * len(frame)
        bits = [start, *(at for at in range(start + 1, min(start + 15, end)) if rng.random() < 0.5)]
        for bit in bits:
            frame = flipped(frame, bit)
        return frame

    for number in range(400):
        key, client = rng.choice(keys), rng.choice([CLIENT, OTHER])
        operation = rng.choice(
            [
                get(key, opaque=number),
                get(key, opaque=number),
                store(key, b"value %d" % number, opaque=number),
                Operation(memcached.DELETE, key, opaque=number),
            ]
        )
        if rng.random() < 0.33:
            # The server's kernel drops it, wherever it goes.
            leaves(lab, client.lane, burst(lab.frame(client, operation.encode())))
            continue
        request = lab.request(operation, client=client)
        for reply in lab.execute(request) if request is not None else ():
            if rng.random() < 0.33:
                leaves(lab, HOST, burst(reply.frame))
            else:
                lab.deliver(reply)
    lab.settle(keys)
    assert lab.hits > 20
    assert lab.lake.read("corrupt") > 100
