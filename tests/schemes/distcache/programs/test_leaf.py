"""DistCache's leaf (p4/distcache/leaf.p4): rules, each with programs that break them. What it
shares with NetCache's switch is in tests/schemes/netcache/programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netkv.model.messages import CacheMetadata, Load, Op, Status
from netkv.model.topology import SERVICE_IP
from tests.schemes.distcache.programs.layers import (
    CLIENT,
    KEY,
    LEAF,
    OTHER_SPINE,
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
    update,
)

rule = Rules(LEAF)

SWITCH = "distcache/cache_switch.p4"
LOAD = "distcache/load.p4"
LOWER = Load(0, 0, 0)


def server_name(leaf: Switch) -> str:
    """The neighbour that owns `KEY`."""
    names = {port: name for name, port in leaf.ports.items()}
    return names[leaf.topology.owner(KEY).port]


def with_entry(leaf: Switch) -> CacheMetadata:
    """The key is cached and valid."""
    leaf.cache()
    return fill(leaf, server_name(leaf), upper=False)


def hit(leaf: Switch, **changes: object) -> Load:
    """A read that the leaf answers; the load in the answer."""
    hop = leaf.answer(get(**changes), CLIENT, owner(KEY), SPINE)  # type: ignore[arg-type]
    message = hop.message
    assert (message.op, message.value, message.cache_hit) == (Op.GET_REPLY, b"first", True)
    assert (hop.datagram.source, hop.datagram.destination) == (owner(KEY), CLIENT)
    assert message.load is not None
    return message.load


@rule(
    (LOAD, "reads = reads + 1;", ""),
    (LOAD, "cells.write(0, meta.epoch ++ reads);", ""),
    (LOAD, "hdr.load.reads = reads;", "hdr.load.reads = 0;"),
    (LOAD, "hdr.kv.flags = hdr.kv.flags | FLAG_LOAD;", ""),
    (LOAD, "hdr.ipv4.total_len = hdr.ipv4.total_len + LOAD_BYTES;", ""),
    (LOAD, "hdr.udp.length = hdr.udp.length + LOAD_BYTES;", ""),
    (LOAD, "hdr.load.layer = layer;", "hdr.load.layer = 1;"),
)
def answers_carry_the_number_of_answered_reads(leaf: Switch) -> None:
    with_entry(leaf)
    assert [hit(leaf) for _ in range(3)] == [replace(LOWER, reads=n) for n in (1, 2, 3)]


@rule(
    (LOAD, "cell[47:32] == meta.epoch", "true"),
    (
        SWITCH,
        "hdr.kv.op == OP_GET || hdr.kv.op[7:4] == OPS_OF_STATISTICS) {\n"
        "                        epoch",
        "hdr.kv.op[7:4] == OPS_OF_STATISTICS) {\n                        epoch",
    ),
)
def load_begins_anew_with_an_epoch(leaf: Switch) -> None:
    with_entry(leaf)
    leaf.epoch(4)
    assert [hit(leaf).reads for _ in range(2)] == [1, 2]
    leaf.epoch(5)
    assert [hit(leaf).reads for _ in range(2)] == [1, 2]


@rule((SWITCH, "if (meta.readable) {\n                        load", "if (true) {\n load"))
def only_answered_reads_count(leaf: Switch) -> None:
    with_entry(leaf)
    assert hit(leaf).reads == 1
    leaf.sends(get(key(0, 0, 1)), CLIENT, owner(key(0, 0, 1)), SPINE)
    leaf.sends(put(key(0, 0, 1)), CLIENT, owner(key(0, 0, 1)), SPINE)
    leaf.sends(invalidate(key(0, 0, 1)), owner(KEY), SERVICE_IP, server_name(leaf))
    assert hit(leaf).reads == 2


@rule(
    (SWITCH, "concerned = concerned && !upwards;", ""),
    (
        SWITCH,
        "upwards = meta.upper && hdr.kv.op[7:4] == OPS_OF_SERVERS;",
        "upwards = false;",
    ),
    (SWITCH, "std.egress_spec = meta.upper_port;", "std.egress_spec = 301;"),
)
def messages_about_the_upper_copy_go_to_its_spine(leaf: Switch) -> None:
    """They pass unchanged, and do not affect the entry of the leaf."""
    metadata = with_entry(leaf)
    for number, spine in enumerate((SPINE, OTHER_SPINE)):
        wanted = KEY if number == 0 else key(1, 0)
        for message in (
            invalidate(wanted, upper=True),
            update(replace(metadata, version=2), key=wanted, upper=True),
        ):
            hop = leaf.answer(message, owner(wanted), SERVICE_IP, server_name(leaf))
            assert hop.to == spine
            assert (hop.message, hop.datagram.destination) == (
                decoded(message),
                SERVICE_IP,
            )
    hit(leaf)


@rule(
    (
        SWITCH,
        "upwards = meta.upper && hdr.kv.op[7:4] == OPS_OF_SERVERS;",
        "upwards = hdr.kv.op[7:4] == OPS_OF_SERVERS;",
    )
)
def messages_about_the_lower_copy_are_answered(leaf: Switch) -> None:
    metadata = with_entry(leaf)
    server = server_name(leaf)
    hop = leaf.answer(invalidate(), owner(KEY), SERVICE_IP, server)
    version = replace(metadata, version=metadata.version + 1)
    assert (hop.to, hop.message.cache_metadata) == (server, version)
    stale = leaf.answer(update(metadata), owner(KEY), SERVICE_IP, server)
    assert stale.message.status is Status.STALE
    hop = leaf.answer(get(), CLIENT, owner(KEY), SPINE)
    assert (hop.to, hop.message) == (server, get(cache_metadata=version))


@rule(
    (
        SWITCH,
        "if (!meta.upper_known) {\n                        meta.drop_reason = DROP_NO_ROUTE;",
        "if (false) {",
    )
)
def message_for_an_unknown_spine_is_dropped(leaf: Switch) -> None:
    """Before its tables are complete, a leaf does not know the spines."""
    leaf.engine.load(leaf.bundle)
    assert leaf.sends(invalidate(upper=True), owner(KEY), SERVICE_IP, server_name(leaf)) == []
    assert leaf.drops() == 1


@rule(
    (SWITCH, "meta.readable = meta.readable && !refreshes;", ""),
    (SWITCH, "if (!meta.answered && !refreshes) {", "if (!meta.answered) {"),
)
def read_that_found_the_upper_copy_invalid_reaches_the_server(leaf: Switch) -> None:
    """Its cache metadata is that of the upper copy, so the server can fill that again."""
    with_entry(leaf)
    read = get(upper=True, cache_metadata=CacheMetadata(9, 33, 0xF))
    hop = leaf.answer(read, CLIENT, owner(KEY), SPINE)
    assert (hop.to, hop.message) == (server_name(leaf), read)
    hit(leaf)


@rule(
    (SWITCH, "hdr.kv.op == OP_GET && hdr.cache_metadata.isValid();", "hdr.kv.op == OP_GET;"),
)
def read_of_an_uncached_upper_copy_is_answered_by_the_lower(leaf: Switch) -> None:
    """The load in the answer is that of the leaf, whatever the read was sent for."""
    with_entry(leaf)
    assert hit(leaf, upper=True) == Load(0, 0, 1)


@rule(
    ("write_through/entry.p4", "valid.write(meta.entry, 0);", ""),
    ("write_through/entry.p4", "meta.version = meta.version + 1;", ""),
)
def write_invalidates_the_lower_copy_when_it_passes(leaf: Switch) -> None:
    metadata = with_entry(leaf)
    for number, op in enumerate((Op.PUT, Op.DELETE), start=1):
        hop = leaf.answer(put(op=op), CLIENT, owner(KEY), OTHER_SPINE)
        version = replace(metadata, version=metadata.version + number)
        assert (hop.to, hop.message.cache_metadata) == (server_name(leaf), version)
        hop = leaf.answer(get(), CLIENT, owner(KEY), SPINE)
        assert (hop.to, hop.message) == (server_name(leaf), get(cache_metadata=version))


@rule((SWITCH, "else if (meta.sampled) {", "else if (false) {"))
def hot_keys_are_reported_once_an_epoch(leaf: Switch) -> None:
    """The leaf counts reads that missed in a spine, too: it reports for both layers."""
    leaf.epoch(3)
    hot = key(0, 0, 2)
    for request in range(10):
        leaf.sends(get(hot, request, upper=request % 2 == 0), CLIENT, owner(hot), SPINE)
    assert leaf.hot_keys() == [hot]


@pytest.mark.parametrize("case", rule.cases, ids=str)
def test_leaf(case: Case) -> None:
    case.check()
