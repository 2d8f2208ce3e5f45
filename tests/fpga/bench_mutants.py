"""Mutants of single modules, and the case of the module's bench that finds each."""

from __future__ import annotations

from typing import NamedTuple


class BenchMutant(NamedTuple):
    """A comparison that a module leaves out."""

    number: int
    name: str
    module: str
    case: str


BENCH_MUTANTS = (
    BenchMutant(120, "line-of-another-address", "line_cache", "reads_see_the_last_write"),
    BenchMutant(121, "read-beside-a-write", "line_cache", "reads_see_the_last_write"),
    BenchMutant(122, "fill-behind-a-write", "line_cache", "reads_see_the_last_write"),
    BenchMutant(
        123, "allocate-beyond-the-region", "slab_allocator", "chunks_are_neither_lost_nor_doubled"
    ),
    BenchMutant(124, "server-of-another-address", "server_addresses", "the_last_good_reply_counts"),
    BenchMutant(125, "any-mac-address", "server_addresses", "the_last_good_reply_counts"),
    BenchMutant(131, "visible-before-lifetime", "freshness_rules", "follows_the_rules"),
    BenchMutant(132, "visible-after-mutation", "freshness_rules", "follows_the_rules"),
    BenchMutant(140, "beyond-the-quota", "miss_table", "owners_keep_their_slots_and_marks"),
    BenchMutant(141, "slot-of-another-owner", "miss_table", "owners_keep_their_slots_and_marks"),
    BenchMutant(142, "marks-of-another-owner", "miss_table", "owners_keep_their_slots_and_marks"),
    BenchMutant(143, "forget-the-last-write", "guard_table", "commands_agree_with_the_model"),
    BenchMutant(144, "entry-of-another-key", "guard_table", "commands_agree_with_the_model"),
    BenchMutant(146, "query-to-any-port", "frame_classifier", "frames_from_functions"),
    BenchMutant(147, "reply-from-any-port", "frame_classifier", "frames_from_the_network"),
    BenchMutant(148, "any-protocol", "frame_classifier", "frames_from_functions"),
    BenchMutant(149, "query-to-a-group", "frame_classifier", "frames_from_functions"),
    BenchMutant(152, "request-of-any-magic", "operation_decoder", "equals_the_rules"),
    BenchMutant(210, "frame-to-any-address", "net_if", "frames_reach_those_that_take_them"),
    BenchMutant(301, "any-port", "emu_core", "frame_to_another_port_is_dropped"),
    BenchMutant(302, "no-key-length-compare", "emu_core", "keys_of_a_line_are_told_apart"),
    BenchMutant(303, "no-key-compare", "emu_core", "keys_of_a_line_are_told_apart"),
    BenchMutant(304, "any-mac-address", "emu_core", "frames_for_others_are_dropped"),
    BenchMutant(305, "any-address", "emu_core", "frames_for_others_are_dropped"),
    BenchMutant(401, "port-of-another-address", "output_port_lookup", "random_traffic_as_switch"),
    BenchMutant(501, "too-many-entries", "vq_avail", "impossible_index_is_an_error"),
    BenchMutant(502, "index-that-goes-back", "vq_avail", "impossible_index_is_an_error"),
    BenchMutant(503, "head-beyond-the-table", "vq_walker", "wrong_tables_are_errors"),
    BenchMutant(504, "next-beyond-the-table", "vq_walker", "wrong_tables_are_errors"),
    BenchMutant(505, "descriptor-of-another-word", "vq_walker", "chains_leave_in_order"),
    BenchMutant(506, "words-of-another-reader", "dma_read_mux", "each_reader_gets_its_words"),
)


def numbers() -> set[int]:
    return {each.number for each in BENCH_MUTANTS}
