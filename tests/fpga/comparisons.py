"""Every comparison of two signals in the RTL, with the mutants that leave it out.

`COMPARISONS` is the source of the table in docs/internals/traps.md. A comparison without a mutant
has the reason why leaving it out does no harm, or why that is no question. `found` finds the
comparisons in the RTL, so that none is forgotten (test_comparisons.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from netkv import rtl_sources as sources

RTL = sources.folder() / "rtl"


class Comparison(NamedTuple):
    """A comparison, as its text stands in a file of the RTL."""

    file: str
    text: str
    what: str
    mutants: tuple[int, ...] = ()
    reason: str = ""


ROUTE = "selects a lane or a register by its number; nothing works without it"
PROGRESS = "ends a loop, or says whether a queue is empty; nothing works without it"
COUNTER = "decides what is counted only"
LENGTHS = "lengths in headers; their own tests spoil each of them"

COMPARISONS = (
    # ---- LaKe ----
    Comparison("lake/lake_pe.sv", "udp_length + 16'd20 == ip_length", LENGTHS, reason=LENGTHS),
    Comparison("lake/lake_pe.sv", "udp_length + 16'd20 != ip_length", LENGTHS, reason=LENGTHS),
    Comparison(
        "lake/lake_pe.sv", "arrived.chunk == entry.chunk", "chunk of an acknowledged SET", (102,)
    ),
    Comparison("lake/lake_pe.sv", "arrived.key_length == key_length", "length of a key", (103,)),
    Comparison(
        "lake/lake_pe.sv",
        "arrived.signature == hash[31:16]",
        "signature of a key",
        reason="the whole key is compared; the signature saves reads of chunks",
    ),
    Comparison("lake/lake_pe.sv", "held.chunk_class == needed", "size of a chunk", (116,)),
    Comparison("lake/lake_pe.sv", "leaving.chunk_class == needed", "size of a chunk", (115,)),
    Comparison("lake/lake_pe.sv", "item.stored_time >= epoch_start", "epoch of a value", (9,)),
    Comparison("lake/lake_pe.sv", "item.server == server", "server of an item", (86,)),
    Comparison(
        "lake/server_addresses.sv", "entry_address[i] == address", "address of a server", (124,)
    ),
    Comparison(
        "lake/server_addresses.sv",
        "entry_mac[place] == destination",
        "MAC address of a server",
        (125,),
    ),
    Comparison(
        "lake/lake_pe.sv",
        "(data_response[511:256] ^ key_ram",
        "key, upper windows of a line",
        (18, 106),
    ),
    Comparison(
        "lake/lake_pe.sv",
        "(data_response[255:0] ^ key_ram",
        "key, lower windows of a line",
        (18, 107),
    ),
    Comparison(
        "lake/lake_pe.sv",
        "operation_offset == payload",
        "first operation of a reply",
        reason="a reply is decoded at its first operation only",
    ),
    Comparison("lake/lake_pe.sv", "item.store_id != entry.store_id", "number of a store", (101,)),
    Comparison(
        "lake/lake_pe.sv", "entry.kind == memcached_pkg::REQUEST_SET", "kind of a request", (108,)
    ),
    Comparison("lake/lake_pe.sv", "line_index != lines_wanted", PROGRESS, reason=PROGRESS),
    Comparison("lake/lake_pe.sv", "store_window == last_window", PROGRESS, reason=PROGRESS),
    Comparison("lake/lake_pe.sv", "key_window == key_windows", PROGRESS, reason=PROGRESS),
    Comparison("lake/lake_pe.sv", "send_word != send_words", PROGRESS, reason=PROGRESS),
    Comparison("lake/lake_pe.sv", "send_word + 1'b1 == send_words", PROGRESS, reason=PROGRESS),
    Comparison(
        "lake/lake_module.sv", "(s_meta.source & server_ports) != '0", "port of a reply", (117,)
    ),
    Comparison(
        "lake/scoreboard.sv", "bucket[other] == declare_bucket[pe]", "bucket of a PE", (1, 118)
    ),
    Comparison("lake/line_cache.sv", "found.key == lookup.address", "address of a line", (120,)),
    Comparison(
        "lake/line_cache.sv",
        "lookup.address[INDEX_BITS-1:0] == s_request.address[INDEX_BITS-1:0]",
        "index of a read behind a write",
        (121,),
    ),
    Comparison(
        "lake/line_cache.sv",
        "pending_address[each][INDEX_BITS-1:0] == lookup.address[INDEX_BITS-1:0]",
        "index of an outstanding read",
        (122,),
    ),
    Comparison(
        "lake/slab_allocator.sv",
        "fresh[chunk_class] != region_end[chunk_class]",
        "address of a chunk",
        (123,),
    ),
    Comparison(
        "lake/slab_allocator.sv",
        "stacked[chunk_class] != stack_limit[chunk_class]",
        PROGRESS,
        reason=PROGRESS,
    ),
    Comparison("lake/slab_allocator.sv", "chunk_class == 2'(each)", ROUTE, reason=ROUTE),
    Comparison("lake/slab_allocator.sv", "fifo_class == 2'(each)", ROUTE, reason=ROUTE),
    Comparison("lake/line_cache.sv", "clear_index != INDEX_BITS", PROGRESS, reason=PROGRESS),
    Comparison("lake/line_clearer.sv", "address == lake_pkg", PROGRESS, reason=PROGRESS),
    Comparison("lake/lake_pe.sv", "miss_request.tag.opcode ", "opcode in a tag", (112,)),
    Comparison("lake/lake_pe.sv", "miss_request.tag.opaque ", "opaque in a tag", (113,)),
    Comparison(
        "lake/lake_pe.sv", "miss_request.tag.client_address ", "address of a client in a tag", (15,)
    ),
    Comparison(
        "lake/lake_pe.sv", "miss_request.tag.client_port ", "port of a client in a tag", (114,)
    ),
    Comparison("lake/lake_pe.sv", "miss_request.tag.server ", "server in a tag", (87,)),
    # ---- shared by caches ----
    Comparison(
        "memcached/frame_classifier.sv",
        "(net_pkg::big_endian(ports[31:16]) ^ memcached_port)",
        "port of a request",
        (146,),
    ),
    Comparison(
        "memcached/frame_classifier.sv",
        "(net_pkg::big_endian(ports[15:0]) ^ memcached_port)",
        "port of a reply",
        (147,),
    ),
    Comparison(
        "memcached/frame_classifier.sv",
        "protocol == net_pkg::PROTOCOL_UDP",
        "protocol of IP",
        (148,),
    ),
    Comparison("memcached/frame_classifier.sv", "!header[0]", "group address", (149,)),
    Comparison(
        "memcached/freshness_rules.sv",
        "guard.version == version",
        "version of a key",
        (2, 132),
    ),
    Comparison(
        "memcached/freshness_rules.sv", "guard.inflight == 8'd0", "mutations on their way", (3,)
    ),
    Comparison(
        "memcached/freshness_rules.sv", "guard.inflight == 8'd1", "mutations on their way", (7,)
    ),
    Comparison(
        "memcached/guard_table.sv",
        "step_index == ram_read_index",
        "entry of the last write",
        (143, 144),
    ),
    Comparison("memcached/miss_table.sv", "tags[slot] == s_match", "tag of a request", (133,)),
    Comparison(
        "memcached/miss_table.sv", "assign marked =", "tag of a request without an entry", (14, 138)
    ),
    Comparison(
        "memcached/miss_table.sv", "|| is_mark) begin", "tag of a mark with live entries", (135,)
    ),
    Comparison(
        "memcached/miss_table.sv",
        "(is_insert || is_mark) begin",
        "tag of a request with older entries",
        (136,),
    ),
    Comparison(
        "memcached/miss_table.sv",
        "<= matched || marked",
        "tag of older entries with a request",
        (137,),
    ),
    Comparison("memcached/miss_table.sv", "mark_hash = MARK_BITS'(", "owner of a mark", (142,)),
    Comparison(
        "memcached/miss_table.sv", "compare_owner == OWNER_BITS'(owner)", ROUTE, reason=ROUTE
    ),
    Comparison(
        "memcached/miss_table.sv", "freed_owner == OWNER_BITS'(owner)", "owner of a slot", (141,)
    ),
    Comparison(
        "memcached/miss_table.sv", "used[compare_owner] < quota", "share of an owner", (140,)
    ),
    Comparison(
        "memcached/operation_decoder.sv", "body_length == 32'(remaining)", LENGTHS, reason=LENGTHS
    ),
    Comparison(
        "memcached/operation_decoder.sv",
        "32'(extras_length) == body_length",
        LENGTHS,
        reason=LENGTHS,
    ),
    Comparison(
        "memcached/operation_decoder.sv", "32'(key_length) == body_length", LENGTHS, reason=LENGTHS
    ),
    Comparison(
        "memcached/text_scanner.sv",
        "16'd1 == payload",
        "begin of the first line",
        reason="its bench has a command at the beginning of each text",
    ),
    Comparison(
        "memcached/operation_decoder.sv", "window[7:0] == 8'h81", "magic of a reply", (151,)
    ),
    Comparison(
        "memcached/operation_decoder.sv", "window[7:0] == 8'h80", "magic of a request", (152,)
    ),
    # ---- the client-side cache -------------------------------------------------------------------
    Comparison(
        "client_cache/kv_controller.sv", "udp_length + 16'd20 == ip_length", LENGTHS, reason=LENGTHS
    ),
    Comparison(
        "client_cache/kv_controller.sv", "udp_length + 16'd20 != ip_length", LENGTHS, reason=LENGTHS
    ),
    Comparison(
        "client_cache/kv_controller.sv", "held.key_length == key_length", "length of a key", (203,)
    ),
    Comparison("client_cache/kv_controller.sv", "held_key == key", "key", (59,)),
    Comparison(
        "client_cache/kv_controller.sv",
        "held.server_address == server_address",
        "address of a server",
        (54,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "held.server_port == server_port",
        "port of a server",
        (204,),
    ),
    Comparison("client_cache/kv_controller.sv", "held.group == client_cache_pkg", "group", (56,)),
    Comparison(
        "client_cache/kv_controller.sv",
        "!held.pending && held.epoch == epoch[group]",
        "epoch of a value",
        (47,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "held.store_id == entry.store_id",
        "number of a store",
        (201,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "entry.kind == memcached_pkg::REQUEST_SET",
        "kind of a request",
        (202,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "held.valid && held.epoch == epoch[group]",
        COUNTER,
        reason=COUNTER,
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "item.valid && item.epoch == epoch[group]",
        COUNTER,
        reason=COUNTER,
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "&& group == GROUP_BITS'(i))\n        || (pause[i]",
        "group of an epoch",
        (213,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "state == TIME && group == GROUP_BITS'(i)",
        "group of a delayed flush",
        (214,),
    ),
    Comparison(
        "client_cache/kv_controller.sv", "next_line != item_lines", PROGRESS, reason=PROGRESS
    ),
    Comparison(
        "client_cache/kv_controller.sv", "store_next != store_lines", PROGRESS, reason=PROGRESS
    ),
    Comparison("client_cache/kv_controller.sv", "1'b1 == store_lines", PROGRESS, reason=PROGRESS),
    Comparison(
        "client_cache/kv_controller.sv", "send_word != send_words", PROGRESS, reason=PROGRESS
    ),
    Comparison("client_cache/kv_controller.sv", "1'b1 == send_words", PROGRESS, reason=PROGRESS),
    Comparison("client_cache/kv_controller.sv", "miss_tag.opcode ", "opcode in a tag", (208,)),
    Comparison("client_cache/kv_controller.sv", "miss_tag.opaque ", "opaque in a tag", (207,)),
    Comparison(
        "client_cache/kv_controller.sv",
        "miss_tag.client_address ",
        "address of a client in a tag",
        (52,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "miss_tag.client_port ",
        "port of a client in a tag",
        (206,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "miss_tag.server_address ",
        "address of a server in a tag",
        (53,),
    ),
    Comparison(
        "client_cache/kv_controller.sv",
        "miss_tag.server_port ",
        "port of a server in a tag",
        (205,),
    ),
    Comparison("client_cache/kv_controller.sv", "miss_tag.source ", "function in a tag", (55,)),
    Comparison("client_cache/net_if.sv", "s_data[47:0] == mac[i]", "MAC address", (210,)),
    Comparison(
        "client_cache/client_cache_core.sv", "controller[groups[f]] == 4'(c)", ROUTE, reason=ROUTE
    ),
    Comparison("client_cache/client_cache_core.sv", "controller[f] == 4'(c)", ROUTE, reason=ROUTE),
    Comparison("client_cache/client_cache_registers.sv", "word == 6'(", ROUTE, reason=ROUTE),
    Comparison("client_cache/client_cache_registers.sv", "number == 4'(i)", ROUTE, reason=ROUTE),
    Comparison("client_cache/client_cache_top.sv", "bar_function == 4'(i)", ROUTE, reason=ROUTE),
    Comparison("client_cache/client_cache_top.sv", "read_function == 4'(i)", ROUTE, reason=ROUTE),
    Comparison("client_cache/receive_path.sv", "lost != counted", COUNTER, reason=COUNTER),
    # ---- Emu ----
    Comparison(
        "emu/emu_core.sv", "{head[295:288], head[303:296]} == udp_port", "port of a request", (301,)
    ),
    Comparison("emu/emu_core.sv", "head[47:0] == mac", "MAC address", (304,)),
    Comparison("emu/emu_core.sv", "head[271:240] == address", "address of IP", (305,)),
    Comparison("emu/emu_core.sv", "udp_length + 16'd20 == ip_length", LENGTHS, reason=LENGTHS),
    Comparison("emu/emu_core.sv", "line.key_length == key_length", "length of a key", (302,)),
    Comparison("emu/emu_core.sv", "(line.item ^ item) & below(key_length)", "key", (303,)),
    Comparison("emu/emu_core.sv", "hashed + 8'd1 == key_length", PROGRESS, reason=PROGRESS),
    # ---- data paths ----
    Comparison("netfpga/output_port_lookup.sv", "entry_address[i] == mac", "MAC address", (401,)),
    Comparison(
        "netfpga/packet_classifier.sv",
        "(held_meta.source & server_ports) != '0",
        "port of a reply",
        (150,),
    ),
    Comparison("netfpga/wire_top.sv", "port ^ PORT_BITS'(1)", ROUTE, reason=ROUTE),
    Comparison("netfpga/wire_top.sv", "wanted_mode == mode", PROGRESS, reason=PROGRESS),
    Comparison("common/frame_fifo.sv", "read_pointer != committed", PROGRESS, reason=PROGRESS),
    Comparison("common/register_file.sv", "index == 14'(", ROUTE, reason=ROUTE),
    Comparison("common/crc_step.sv", "^", "arithmetic", reason="arithmetic of CRCs"),
    Comparison(
        "memcached/miss_table.sv",
        "folded ^=",
        "arithmetic",
        reason="a hash; marks with one hash are one",
    ),
    # ---- virtio ----
    Comparison(
        "virtio/vq_avail.sv", "new_seen - used_index > setup.size", "index of a ring", (501,)
    ),
    Comparison(
        "virtio/vq_avail.sv",
        "new_seen - used_index < fetch_index - used_index",
        "index of a ring",
        (502,),
    ),
    Comparison("virtio/vq_walker.sv", "s_head >= setup.size", "number of a descriptor", (503,)),
    Comparison(
        "virtio/vq_walker.sv", "descriptor.next >= setup.size", "number of a descriptor", (504,)
    ),
    Comparison(
        "virtio/vq_walker.sv",
        "there[16:PLACE_BITS] == here[16:PLACE_BITS]",
        "address of a descriptor",
        (505,),
    ),
    Comparison("virtio/vq_walker.sv", "first != behind", PROGRESS, reason=PROGRESS),
    Comparison(
        "virtio/vq_walker.sv",
        "write_pointer[out_slot] != read_pointer[out_slot]",
        PROGRESS,
        reason=PROGRESS,
    ),
    Comparison("virtio/vq_used.sv", "published != used_index", PROGRESS, reason=PROGRESS),
    Comparison(
        "virtio/virtio_transmit.sv", "left == LENGTH_BITS'(burst)", PROGRESS, reason=PROGRESS
    ),
    Comparison(
        "virtio/virtio_transmit.sv", "length_read != length_write", PROGRESS, reason=PROGRESS
    ),
    Comparison("virtio/dma_read_mux.sv", "m_axi_rid == 8'(i)", "number of a reader", (506,)),
    Comparison("virtio/dma_arbiter.sv", "order_write != order_read", PROGRESS, reason=PROGRESS),
    Comparison("virtio/dma_arbiter.sv", "m_axi_rid[7:4] == 4'(i)", ROUTE, reason=ROUTE),
    Comparison("virtio/dma_arbiter.sv", "m_axi_bid[7:4] == 4'(i)", ROUTE, reason=ROUTE),
    Comparison("virtio/dma_write_mux.sv", "order_write == order_read", PROGRESS, reason=PROGRESS),
    Comparison("virtio/virtio_msix.sv", "irq_vector[i] == 16'(v)", ROUTE, reason=ROUTE),
    Comparison("virtio/virtio_msix.sv", "entry == 12'(v)", ROUTE, reason=ROUTE),
    Comparison("virtio/virtio_pci_config.sv", "cfg_address[7:2] == 6'(", ROUTE, reason=ROUTE),
    Comparison("virtio/virtio_registers.sv", "bar_address[15:2] == 14'(", ROUTE, reason=ROUTE),
    Comparison("virtio/virtio_registers.sv", "link_up != link_was_up", COUNTER, reason=COUNTER),
    Comparison("virtio/virtio_registers.sv", "mac != mac_before", COUNTER, reason=COUNTER),
)

_OPERAND = r"[\w.$\[\]:+\-'{}(), ]*[\w\]})]"
_PLACE = re.compile(rf"(?P<left>{_OPERAND})\s*(?:==|!=)\s*(?P<right>(?:::|[^\s;&|?:])+)|\s\^=?\s")
_CONSTANT = re.compile(
    r"^\(*(?:\d*'?[bdh]?[\da-f_]+|'[01]|\"[^\"]*\"?|(?:\w+_pkg::)?[A-Z][A-Z_0-9]*)\W*$"
)


def code(file: str) -> str:
    """A file of the RTL without comments."""
    return re.sub(r"//[^\n]*", "", (RTL / file).read_text(encoding="utf-8"))


def found() -> Iterator[tuple[str, int, str]]:
    """Comparisons of two signals: the file, the place in its code, and the line there."""
    for path in sorted(RTL.rglob("*.sv")):
        file = str(path.relative_to(RTL))
        text = code(file)
        for each in _PLACE.finditer(text):
            left, right = each["left"], each["right"]
            if left is not None and _CONSTANT.match(right):
                continue
            at = each.end("left") if left is not None else each.start()
            line = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)]
            yield file, at, line.strip()


def covers(comparison: Comparison, file: str, at: int) -> bool:
    """Whether the text of a comparison is at a place of a file."""
    if comparison.file != file:
        return False
    text = code(file)
    begin = text.find(comparison.text)
    while begin >= 0:
        if begin - 1 <= at <= begin + len(comparison.text):
            return True
        begin = text.find(comparison.text, begin + 1)
    return False
