"""Each safety rule of LaKe, broken in the RTL, makes a test of test_lake_rules.py fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from netkv.kits.design_mutants import Mutant, places
from netkv.schemes.lake import mutants
from tests.fpga.damage import DAMAGE
from tests.fpga.packets import memcached
from tests.schemes.lake import test_lake_comparisons as compared
from tests.schemes.lake import test_lake_corruption as corruption
from tests.schemes.lake import test_lake_flush as flushes
from tests.schemes.lake import test_lake_rules as traps
from tests.schemes.lake import test_lake_servers as servers
from tests.schemes.lake import test_unread_requests as unread
from tests.schemes.lake.lake import Lab, Lake
from tests.schemes.lake.test_lake_servers import Servers

FOUND_BY: dict[str, Callable[[Lab], None]] = {
    "no-bucket-order": traps.test_requests_of_a_bucket_at_once_keep_their_order,
    "fill-after-mutation": partial(traps.test_fill_race_with_every_mutation, mutation="delete"),
    "fill-during-mutation": partial(traps.test_fill_race_with_every_mutation, mutation="delete"),
    "fill-before-lifetime": partial(
        traps.test_old_reply_does_not_fill_after_an_unseen_mutation, kind="tcp-ascii"
    ),
    "fill-of-expiring": traps.test_item_with_expiry_is_never_filled,
    "visible-though-refused": partial(
        traps.test_set_that_the_server_rejects_is_not_served, status=0x82
    ),
    "visible-during-mutation": traps.test_set_does_not_hide_an_older_delete_on_its_way,
    "serve-pending": traps.test_set_that_is_lost_is_never_served,
    "serve-old-epoch": partial(traps.test_unseen_mutation_makes_all_data_invalid, kind="tcp-ascii"),
    "serve-after-delayed-flush": partial(
        flushes.test_hits_stop_only_while_a_flush_may_take_effect, effect=20
    ),
    "serve-beyond-max-age": traps.test_maximum_age_bounds_what_is_served,
    "no-invalidation": partial(
        traps.test_mutation_invalidates_before_the_server_has_it, mutation="append"
    ),
    "fill-ambiguous": partial(traps.test_reused_opaque_does_not_mix_up_keys, opaque=0),
    "forget-untracked-tags": traps.test_opaque_of_a_request_in_a_larger_datagram,
    "mix-up-clients": partial(traps.test_two_clients_may_have_one_opaque_and_port, backwards=True),
    "fill-of-part": traps.test_reply_in_several_datagrams_does_not_fill,
    "fill-of-refusal": partial(traps.test_reply_with_an_error_does_not_fill, status=1),
    "no-key-compare": traps.test_keys_with_one_hash_are_told_apart,
    "first-operation-only": partial(traps.test_mutation_anywhere_in_a_datagram_is_seen, place=1),
    "ignore-malformed": partial(
        traps.test_unseen_mutation_makes_all_data_invalid, kind="udp-ascii"
    ),
    "ignore-flush": partial(
        traps.test_mutation_invalidates_before_the_server_has_it, mutation="flush"
    ),
    "store-conditional": partial(traps.test_conditional_sets_are_not_applied_early, safe=False),
    "store-expiring": traps.test_set_with_expiry_is_never_served_after_it,
    "ignore-opaque-frames": partial(
        traps.test_unseen_mutation_makes_all_data_invalid, kind="tcp-binary"
    ),
    "ignore-fragments": partial(
        traps.test_unseen_mutation_makes_all_data_invalid, kind="fragments"
    ),
    "keep-when-switched-on": traps.test_nothing_old_is_served_after_the_cache_was_off,
    "ignore-long-frames": partial(
        traps.test_unseen_mutation_makes_all_data_invalid, kind="long-frame"
    ),
    "forget-unanswered": partial(
        traps.test_quiet_mutation_forbids_fills_for_its_lifetime, mutation="deleteq"
    ),
    "fill-behind-unseen-mutation": (
        traps.test_get_behind_an_unseen_mutation_does_not_fill_after_its_lifetime
    ),
    "acknowledge-another-store": compared.test_acknowledgement_is_for_its_own_store_only,
    "acknowledge-any-chunk": compared.test_acknowledgement_finds_the_chunk_of_its_set,
    "serve-a-longer-key": compared.test_key_is_not_taken_for_the_beginning_of_another,
    "compare-first-line-of-key": partial(
        compared.test_keys_that_differ_anywhere_are_told_apart, place=70
    ),
    "compare-every-other-window": partial(
        compared.test_keys_that_differ_anywhere_are_told_apart, place=33
    ),
    "acknowledge-mutation-as-set": compared.test_reply_to_a_delete_changes_no_other_item,
    "store-behind-unseen-mutation": compared.test_set_behind_an_unseen_mutation_is_not_stored,
    "mix-up-opcodes": partial(
        compared.test_requests_that_differ_in_one_field_are_both_filled,
        field="opcode",
        backwards=False,
    ),
    "mix-up-opaques": partial(
        compared.test_requests_that_differ_in_one_field_are_both_filled,
        field="opaque",
        backwards=False,
    ),
    "mix-up-ports": partial(
        compared.test_requests_that_differ_in_one_field_are_both_filled,
        field="port",
        backwards=False,
    ),
    "reuse-chunk-of-another-size": compared.test_chunk_of_another_size_is_not_reused_at_once,
    "take-chunk-of-another-size": (
        compared.test_item_without_a_free_chunk_takes_none_of_another_size
    ),
    "replies-are-requests": traps.test_set_is_not_visible_before_its_reply,
    "no-bucket-compare": traps.test_requests_of_a_bucket_at_once_keep_their_order,
    "take-any-request": partial(
        compared.test_requests_that_differ_in_one_field_are_both_filled,
        field="opaque",
        backwards=False,
    ),
    "mark-spares-live-entries": compared.test_mark_makes_the_live_request_before_it_ambiguous,
    "insert-spares-older-entry": partial(traps.test_reused_opaque_does_not_mix_up_keys, opaque=0),
    "newer-entry-is-not-ambiguous": compared.test_copied_reply_does_not_serve_the_younger_request,
    "mark-for-ever": partial(compared.test_tag_is_used_again_after_a_lifetime, unanswered="marked"),
    "requests-never-expire": partial(
        compared.test_tag_is_used_again_after_a_lifetime, unanswered="lost"
    ),
    "mutations-never-expire": partial(
        traps.test_quiet_mutation_forbids_fills_for_its_lifetime, mutation="setq"
    ),
    "reply-from-a-client": traps.test_set_is_not_visible_before_its_reply,
    "reply-of-any-magic": traps.test_set_is_not_visible_before_its_reply,
    "time-of-day-is-a-delay": flushes.test_flush_at_an_unknown_time_of_day_is_not_sent_on,
    "trust-the-clocks": flushes.test_accuracy_widens_the_pause,
    "pause-late": partial(flushes.test_hits_stop_only_while_a_flush_may_take_effect, effect=18),
    "pause-too-short": partial(
        flushes.test_hits_stop_only_while_a_flush_may_take_effect, effect=22
    ),
    "every-text-changes-items": partial(
        unread.test_request_that_changes_nothing_leaves_the_data_valid, name="text-that-reads"
    ),
    "pause-at-once": partial(flushes.test_hits_stop_only_while_a_flush_may_take_effect, effect=20),
}
FOUND_BY_CORRUPTION: dict[str, Callable[[Lab], None]] = {
    "ignore-ip-checksum": partial(
        corruption.test_corrupt_get_is_not_answered,
        damage=DAMAGE["ip-checksum-without-udp-checksum"],
    ),
    "ignore-udp-checksum": partial(
        corruption.test_corrupt_reply_does_not_fill, damage=DAMAGE["last-payload-bit"]
    ),
    "require-udp-checksum": corruption.test_datagrams_without_a_checksum_are_used,
    "ignore-lengths": partial(
        corruption.test_corrupt_get_is_not_answered, damage=DAMAGE["udp-length-beyond-packet"]
    ),
    "act-on-corrupt": partial(
        corruption.test_corrupt_acknowledgement_is_none, damage=DAMAGE["udp-checksum"]
    ),
    "act-on-corrupt-opaque-frames": partial(
        corruption.test_unseen_mutation_with_a_wrong_checksum, kind="tcp-binary"
    ),
}
FOUND_BY_SERVERS: dict[str, Callable[[Servers], None]] = {
    "mix-up-items-of-servers": servers.test_set_to_a_server_answers_no_get_to_another,
    "mix-up-replies-of-servers": servers.test_reply_of_another_server_is_no_acknowledgement,
    "answer-for-other-machines": servers.test_get_to_another_mac_address_passes,
    "answer-without-time-to-live": servers.test_get_at_the_end_of_its_time_to_live_passes,
    "invalidate-items-of-one-server": partial(
        servers.test_mutation_invalidates_the_items_of_every_server, opcode=memcached.DELETE
    ),
}


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(lake_library: Path, mutant: Mutant) -> None:
    lake = Lake(lake_library, mutant=mutant.number)
    case: Callable[[], None]
    if mutant.name in FOUND_BY_SERVERS:
        case = partial(FOUND_BY_SERVERS[mutant.name], Servers(lake, servers.NIC))
    else:
        case = partial({**FOUND_BY, **FOUND_BY_CORRUPTION}[mutant.name], Lab(lake))
    with pytest.raises(AssertionError):
        case()


def test_every_mutant_of_the_rtl_is_listed() -> None:
    numbers = [each.number for each in mutants.MUTANTS]
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= places()
