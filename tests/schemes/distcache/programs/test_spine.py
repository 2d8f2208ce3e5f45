"""DistCache's upper switch (p4/distcache/spine.p4): rules, each with programs that break them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netkv.model.messages import CacheMetadata, Load, Op, Status
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP
from tests.schemes.distcache.programs.layers import (
    CLIENT,
    EDGE,
    KEY,
    LEAF,
    SPINE,
    Case,
    Rules,
    Switch,
    decoded,
    fill,
    get,
    invalidate,
    key,
    owner,
    put,
    reply,
    update,
)

rule = Rules(SPINE)

SWITCH = "distcache/cache_switch.p4"
VALIDITY = "write_through/entry.p4"
ANSWER = "write_through/messages.p4"


def with_entry(spine: Switch) -> CacheMetadata:
    """The upper copy of the key is cached and valid."""
    spine.cache()
    return fill(spine, LEAF, upper=True)


def hit(spine: Switch, value: bytes = b"first") -> Load:
    """A read of the upper copy that the spine answers; the load in the answer."""
    hop = spine.answer(get(upper=True), CLIENT, owner(KEY), EDGE)
    assert hop.to == EDGE
    assert hop.message.load is not None
    expected = reply(hop.message.load, upper=True, cache_hit=True, length=len(value), value=value)
    assert hop.message == expected
    assert (hop.datagram.source, hop.datagram.destination) == (owner(KEY), CLIENT)
    return hop.message.load


def missed(spine: Switch, metadata: CacheMetadata | None) -> None:
    """A read of the upper copy that the spine forwards to the server."""
    hop = spine.answer(get(upper=True), CLIENT, owner(KEY), EDGE)
    assert (hop.to, hop.message) == (LEAF, get(upper=True, cache_metadata=metadata))
    assert hop.datagram.destination == owner(KEY)


@rule(
    ("distcache/load.p4", "hdr.load.layer = layer;", "hdr.load.layer = 0;"),
    ("distcache/load.p4", "reads = reads + 1;", ""),
    (SWITCH, "const bit<8> KEPT_FLAGS = FLAG_UPPER;", "const bit<8> KEPT_FLAGS = 0;"),
)
def read_of_a_valid_upper_copy_is_answered(spine: Switch) -> None:
    with_entry(spine)
    assert [hit(spine) for _ in range(3)] == [Load(1, 0, n) for n in (1, 2, 3)]


@rule(
    (
        SWITCH,
        "concerned = meta.upper_here && (hdr.kv.op == OP_GET\n",
        "concerned = (concerned && hdr.kv.op == OP_GET) || meta.upper_here && (false\n",
    ),
)
def read_of_the_lower_copy_passes(spine: Switch) -> None:
    """The switch of the clients has chosen; a spine that answered would get all the load."""
    with_entry(spine)
    hop = spine.answer(get(), CLIENT, owner(KEY), EDGE)
    assert (hop.to, hop.message) == (LEAF, get())
    assert hit(spine).reads == 1


@rule(
    (
        SWITCH,
        "concerned = meta.upper_here && (hdr.kv.op == OP_GET\n",
        "concerned = concerned && is_write(hdr.kv.op)\n"
        "            || meta.upper_here && (hdr.kv.op == OP_GET\n",
    ),
)
def write_passes_without_effect(spine: Switch) -> None:
    """The server invalidates the upper copy: a write may take another way."""
    with_entry(spine)
    for op in (Op.PUT, Op.DELETE):
        hop = spine.answer(put(op=op), CLIENT, owner(KEY), EDGE)
        assert (hop.to, hop.message) == (LEAF, decoded(put(op=op)))
        hit(spine)


@rule(
    (SWITCH, "const bit<8> KEPT_FLAGS = FLAG_UPPER;", "const bit<8> KEPT_FLAGS = 0;"),
    (VALIDITY, "valid.write(meta.entry, 0);", ""),
    (VALIDITY, "meta.version = meta.version + 1;", ""),
    (SWITCH, "upwards = upwards && !meta.upper_here;", ""),
)
def invalidate_makes_the_upper_copy_invalid(spine: Switch) -> None:
    metadata = with_entry(spine)
    hop = spine.answer(invalidate(upper=True), owner(KEY), SERVICE_IP, LEAF)
    version = replace(metadata, version=metadata.version + 1)
    expected = invalidate(upper=True).reply(cache_metadata=version)
    assert (hop.to, hop.message, hop.datagram.destination) == (LEAF, expected, owner(KEY))
    missed(spine, version)


@rule(
    (VALIDITY, "(!COMPARE_VERSIONS || hdr.cache_metadata.version == meta.version)", "true"),
    (VALIDITY, "hdr.cache_metadata.generation == meta.generation", "true"),
    (ANSWER, "to_update(STATUS_STALE);", "to_update(STATUS_OK);"),
)
def update_is_stored_only_with_the_latest_version(spine: Switch) -> None:
    """Copies of INVALIDATE and UPDATE arrive in any order."""
    metadata = with_entry(spine)

    def push(version: int, value: bytes, generation: int = 7) -> Status:
        sent = update(CacheMetadata(generation, version, 0xF), value, upper=True)
        hop = spine.answer(sent, owner(KEY), SERVICE_IP, LEAF)
        assert hop.message == sent.reply(
            status=hop.message.status, cache_metadata=sent.cache_metadata
        )
        return hop.message.status

    assert push(metadata.version, b"first") is Status.OK, "a copy"
    hit(spine)
    for _ in range(2):  # INVALIDATE and a copy of it
        spine.answer(invalidate(upper=True), owner(KEY), SERVICE_IP, LEAF)
    latest = metadata.version + 2
    assert push(metadata.version, b"first") is Status.STALE
    assert push(metadata.version + 1, b"second") is Status.STALE
    assert push(latest, b"other", generation=6) is Status.NOT_CACHED
    missed(spine, CacheMetadata(7, latest, 0xF))
    assert push(latest, b"third") is Status.OK
    hit(spine, b"third")
    assert push(metadata.version, b"first") is Status.STALE
    hit(spine, b"third")


@rule(
    (
        SWITCH,
        "#endif\n                if (concerned) {\n                    lookup.apply(hdr, meta);",
        "#endif\n                if (concerned) {\n                    meta.cached = true;",
    ),
)
def key_without_an_entry_is_not_cached(spine: Switch) -> None:
    missed(spine, None)
    hop = spine.answer(invalidate(upper=True), owner(KEY), SERVICE_IP, LEAF)
    assert hop.message == invalidate(upper=True).reply(status=Status.NOT_CACHED)
    sent = update(CacheMetadata(7, 1, 0xF), upper=True)
    hop = spine.answer(sent, owner(KEY), SERVICE_IP, LEAF)
    assert hop.message.status is Status.NOT_CACHED


@rule((SWITCH, "upwards = upwards && !meta.upper_here;", "upwards = false;"))
def message_for_another_spine_is_forwarded_to_it(spine: Switch) -> None:
    """A message may come this way, if another way has failed."""
    other = key(1, 0)
    for message in (invalidate(other, upper=True), update(CacheMetadata(7, 1, 0xF), upper=True)):
        sent = replace(message, key=other)
        hop = spine.answer(sent, owner(other), SERVICE_IP, LEAF)
        assert spine.ports[hop.to] == spine.topology.first_layer[1]
        assert hop.message == decoded(sent)


@rule(
    (
        SWITCH,
        "concerned = meta.upper_here && (hdr.kv.op == OP_GET\n",
        "concerned = meta.upper && (hdr.kv.op == OP_GET\n",
    ),
)
def read_of_another_spine_passes(spine: Switch) -> None:
    """An entry outside the spine's range, which no INVALIDATE would reach, is never read."""
    other = key(1, 0)
    spine.cache(other, entry=6)
    hop = spine.answer(get(other, upper=True), CLIENT, owner(other), EDGE)
    assert hop.message == get(other, upper=True)


@rule(
    (SWITCH, "meta.upper = concerned &&", "meta.upper = true &&"),
    (
        SWITCH,
        "meta.upper = concerned && (hdr.kv.flags & FLAG_UPPER) != 0;\n"
        "                upwards = meta.upper &&",
        "meta.upper = (hdr.kv.flags & FLAG_UPPER) != 0;\n                upwards = meta.upper &&",
    ),
)
def replies_and_messages_of_the_controller_pass(spine: Switch) -> None:
    """A reply with the flag is on its way from here, not to here."""
    with_entry(spine)
    for op, source, destination, to in (
        (Op.UPDATE_REPLY, SERVICE_IP, owner(KEY), LEAF),
        (Op.GET_REPLY, owner(KEY), CLIENT, EDGE),
        (Op.INSTALL, CONTROLLER_IP, owner(KEY), LEAF),
    ):
        message = reply(op=op, upper=True, cache_metadata=CacheMetadata(9, 5, 0xF))
        if op is not Op.GET_REPLY:
            message = replace(message, length=0, value=b"")
        hop = spine.answer(message, source, destination, EDGE if to == LEAF else LEAF)
        assert (hop.to, hop.message) == (to, message)
    hit(spine)


@pytest.mark.parametrize("case", rule.cases, ids=str)
def test_spine(case: Case) -> None:
    case.check()
