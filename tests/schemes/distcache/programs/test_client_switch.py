"""DistCache's switch of clients (p4/distcache/client.p4): rules, each with programs that break
them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netkv.control import base
from netkv.model.messages import CacheMetadata, Load, Op
from netkv.model.topology import SERVICE_IP
from tests.p4programs.defects import Patch
from tests.schemes.distcache.programs.layers import (
    CLIENT,
    EDGE,
    HALF_LIFE,
    KEY,
    OTHER_SPINE,
    SPINE,
    Case,
    Hop,
    Rules,
    Switch,
    get,
    key,
    owner,
    put,
    reply,
    tables,
)

rule = Rules(EDGE)

UPPER, LAST = 1, 0
CHOICE = "distcache/choice.p4"
LOADS = "distcache/choice.p4"
HEADERS = "distcache/client.p4"
FORGED = CacheMetadata(7, 100, 0xFF)


def known(edge: Switch, *, upper: int = 0, last: int = 0) -> None:
    """Replies bring these loads of the switches with the two copies of `KEY`."""
    for layer, reads in ((UPPER, upper), (LAST, last)):
        edge.sends(reply(Load(layer, 0, reads)), owner(KEY), CLIENT, SPINE)


def chosen(edge: Switch, key: bytes = KEY, request: int = 2) -> str:
    """`upper` or `last`: where a read is sent."""
    hop = edge.answer(get(key, request), CLIENT, SERVICE_IP, "client-1")
    return "upper" if hop.message.upper else "last"


@rule(
    (CHOICE, "upper < last ||", "upper > last ||"),
    (CHOICE, "meta.upper_known\n", "false\n"),
    (CHOICE, "(upper < last || (upper == last && hdr.kv.request[0:0] == 1))", "true"),
    (CHOICE, "last_loads.apply(meta, !reads, last_number, hdr.load.reads, last);", ""),
)
def read_is_sent_to_the_switch_with_the_smaller_load(edge: Switch) -> None:
    known(edge, upper=5, last=4)
    assert chosen(edge) == "last"
    known(edge, upper=4, last=5)
    assert chosen(edge) == "upper"
    known(edge, upper=0xFFFFFFFE, last=0xFFFFFFFF)
    assert chosen(edge) == "upper"


@rule(
    (CHOICE, "(upper == last && hdr.kv.request[0:0] == 1)", "upper == last"),
    (CHOICE, "|| (upper == last && hdr.kv.request[0:0] == 1)", ""),
)
def reads_alternate_between_equal_loads(edge: Switch) -> None:
    known(edge, upper=4, last=4)
    assert [chosen(edge, request=number) for number in range(4)] == ["last", "upper"] * 2


@rule(
    ("distcache/client.p4", "hdr.kv.flags = hdr.kv.flags | FLAG_UPPER;", ""),
    ("distcache/client.p4", "std.egress_spec = meta.upper_port;", "std.egress_spec = 302;"),
    (
        "distcache/client.p4",
        "if (meta.drop_reason == KEEP && hdr.kv.isValid()) {\n                partition",
        "if (meta.drop_reason == KEEP && hdr.kv.isValid()) {\n"
        "                if (hdr.kv.op != OP_GET) partition",
    ),
)
def read_of_the_upper_copy_goes_to_its_switch_with_its_owner(edge: Switch) -> None:
    """It carries the address of its owner, so the spine forwards it if it cannot answer."""
    for number, spine in enumerate((SPINE, OTHER_SPINE)):
        wanted = key(number, 1 - number)
        hop = edge.answer(get(wanted, 3), CLIENT, SERVICE_IP, "client-1")
        assert hop.to == spine
        assert hop.message == get(wanted, 3, upper=True)
        assert hop.datagram.destination == owner(wanted)


@rule(
    (CHOICE, "hdr.load.layer == 1) {", "hdr.load.layer == 0) {"),
    (CHOICE, "last_number = hdr.load.number;", "last_number = 0;"),
    (CHOICE, "meta.upper_number = hdr.load.number;", "meta.upper_number = 0;"),
    (LOADS, "cells.write((bit<32>) number,", "cells.write(0,"),
)
def each_switch_has_a_load_of_its_own(edge: Switch) -> None:
    for layer in (UPPER, LAST):
        for number in range(2):
            load = Load(layer, number, 10 * layer + number + 1)
            edge.sends(reply(load), owner(KEY), CLIENT, SPINE)
    for layer, name in ((UPPER, "upper"), (LAST, "last")):
        cells = [edge.register(f"choice.{name}_loads.cells", number) for number in range(3)]
        assert [cell & 0xFFFFFFFF for cell in cells] == [10 * layer + 1, 10 * layer + 2, 0]


@rule(
    (CHOICE, "last_number = number;", "last_number = 0;"),
    ("distcache/upper_copy.p4", "meta.upper_number = number;", "meta.upper_number = 0;"),
)
def loads_are_those_of_the_switches_with_the_two_copies(edge: Switch) -> None:
    for layer in (UPPER, LAST):
        edge.sends(reply(Load(layer, layer, 100)), owner(KEY), CLIENT, SPINE)
    # Spine 0 and leaf 1 are idle, spine 1 and leaf 0 are not.
    assert chosen(edge, key(0, 0), 2) == "upper"
    assert chosen(edge, key(1, 1), 3) == "last"


@rule(
    (LOADS, "age < meta.half_life)", "true)"),
    (LOADS, "known = cell[31:0] >> 1;", "known = cell[31:0];"),
    (LOADS, "known = cell[31:0] >> 2;", "known = cell[31:0] >> 1;"),
    (LOADS, "age < (meta.half_life << 2)", "true"),
    (LOADS, "age < (meta.half_life << 1)", "true"),
)
def load_that_is_not_heard_of_counts_less_and_less(edge: Switch) -> None:
    """The upper load is 100 at first, and compared with fresh ones of the last layer."""
    known(edge, upper=100)
    name = "choice.upper_loads.cells"
    now = edge.register(name, 0) >> 32
    for half_lives, counts in ((0.5, 100), (1.5, 50), (3, 25), (5, 0)):
        heard = (now - round(half_lives * HALF_LIFE)) % (1 << 32)
        edge.register(name, 0, heard << 32 | 100)
        edge.sends(reply(Load(LAST, 0, counts + 1)), owner(KEY), CLIENT, SPINE)
        assert chosen(edge) == "upper"
        edge.sends(reply(Load(LAST, 0, counts)), owner(KEY), CLIENT, SPINE)
        assert [chosen(edge, request=number) for number in (2, 3)] == ["last", "upper"]
        if counts:
            edge.sends(reply(Load(LAST, 0, counts - 1)), owner(KEY), CLIENT, SPINE)
            assert chosen(edge) == "last"


@rule((CHOICE, "meta.upper_known\n", "true\n"))
def excluded_spine_is_never_chosen(edge: Switch) -> None:
    """Its entry has no action, and its load counts nothing."""
    edge.write(_excluded(0))
    known(edge, upper=0, last=1000)
    for request in range(20):
        assert chosen(edge, request=request) == "last"
    assert chosen(edge, key(1, 0)) == "upper", "the other spine serves"


@rule(
    (CHOICE, "reads = hdr.kv.op == OP_GET;", "reads = true;"),
    ("distcache/client.p4", "if (hdr.kv.op == OP_GET || hdr.load.isValid()) {", "if (true) {"),
)
def writes_take_the_route_of_their_server(edge: Switch) -> None:
    known(edge, upper=0, last=1000)
    for op in (Op.PUT, Op.DELETE):
        edge.register("choice.upper_loads.cells", 0, 0)
        hop = edge.answer(put(op=op), CLIENT, SERVICE_IP, "client-1")
        assert hop.message == put(op=op)
        assert hop.datagram.destination == owner(KEY)
        assert edge.topology.owner(KEY).port == edge.ports[hop.to]
    assert edge.register("choice.last_loads.cells", 0) & 0xFFFFFFFF == 1000


@rule(
    (HEADERS, "hdr.load.setInvalid();", ""),
    (HEADERS, "bytes = bytes + LOAD_BYTES;", ""),
    (HEADERS, "FLAG_CACHE_METADATA | FLAG_UPPER | FLAG_LOAD", "FLAG_CACHE_METADATA | FLAG_LOAD"),
    (HEADERS, "FLAG_CACHE_METADATA | FLAG_UPPER | FLAG_LOAD", "FLAG_CACHE_METADATA | FLAG_UPPER"),
)
def client_gets_no_load_and_no_layer(edge: Switch) -> None:
    for load in (None, Load(UPPER, 0, 5)):
        sent = reply(load, cache_hit=True, upper=True)
        hop = edge.answer(sent, owner(KEY), CLIENT, SPINE)
        assert hop == Hop("client-1", hop.datagram)
        assert hop.message == reply(cache_hit=True)


@rule(
    (HEADERS, "hdr.cache_metadata.setInvalid();", ""),
    (HEADERS, "bytes = bytes + CACHE_METADATA_BYTES;", ""),
    (HEADERS, "FLAG_CACHE_METADATA | FLAG_UPPER | FLAG_LOAD", "FLAG_CACHE_METADATA | FLAG_LOAD"),
    ("distcache/client.p4", "if (is_request || hdr", "if (hdr"),
)
def headers_of_switches_are_removed_from_requests(edge: Switch) -> None:
    """Otherwise a client could refresh or invalidate entries with forged metadata."""
    known(edge, upper=1000, last=0)
    for message in (get(), put(), put(op=Op.DELETE)):
        sent = replace(message, cache_metadata=FORGED, upper=True, load=Load(UPPER, 0, 0))
        hop = edge.answer(sent, CLIENT, SERVICE_IP, "client-1")
        assert hop.message == message


@rule(("distcache/client.p4", "|| hdr.kv.op == OP_GET_REPLY", "|| true"))
def other_messages_pass_unchanged(edge: Switch) -> None:
    """A switch of clients may be on the way of messages between a leaf and a spine."""
    for op in (Op.INVALIDATE_REPLY, Op.UPDATE_REPLY, Op.PUT_REPLY):
        message = reply(op=op, cache_metadata=FORGED, upper=True, length=0, value=b"")
        assert edge.answer(message, SERVICE_IP, owner(KEY), SPINE).message == message


def _excluded(number: int) -> base.ModifyEntry:
    """The write by which the control plane takes an upper switch out of service."""
    (entry,) = [
        write
        for write in tables(EDGE)
        if isinstance(write, base.ModifyEntry) and write.params.get("number") == number
    ]
    return replace(entry, action="NoAction", params={})


@pytest.mark.parametrize("case", rule.cases, ids=str)
def test_client_switch(case: Case) -> None:
    case.check()


def test_edit_of_a_text_that_is_gone_is_refused() -> None:
    gone: Patch = (CHOICE, "no such text", "")
    with pytest.raises(AssertionError, match="0 times"):
        Switch(EDGE, "interpreter", gone)
