"""Each safety rule of the client-side cache, broken in the RTL, makes a case of a bench fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netkv.kits.design_mutants import Mutant, places
from netkv.schemes.client_cache import mutants
from tests.fpga import bench

pytestmark = pytest.mark.slow

CONTROLLER = {
    "forget-untracked-tags": "opaque_of_a_request_without_an_entry_is_remembered",
    "store-conditional": "sets_that_depend_on_more_are_not_stored",
    "store-expiring": "sets_that_depend_on_more_are_not_stored",
    "forget-unanswered": "reply_does_not_fill_while_a_mutation_is_unanswered",
    "fill-after-mutation": "old_reply_does_not_fill_after_a_mutation",
    "fill-during-mutation": "reply_does_not_fill_while_a_mutation_is_unanswered",
    "fill-before-lifetime": "reply_from_before_an_unseen_mutation_does_not_fill",
    "fill-of-expiring": "item_with_expiry_is_never_filled",
    "visible-though-refused": "set_that_the_server_refuses_is_not_served",
    "visible-during-mutation": "set_does_not_hide_a_mutation_that_passed_before",
    "serve-pending": "set_that_is_lost_is_never_served",
    "serve-old-epoch": "flush_ends_all_entries",
    "serve-after-delayed-flush": "delayed_flush_ends_hits_while_it_may_take_effect",
    "serve-beyond-max-age": "maximum_age_bounds_what_is_served",
    "no-invalidation": "mutation_invalidates_before_the_server_has_it",
    "fill-ambiguous": "requests_with_one_opaque_are_not_mixed_up",
    "mix-up-clients": "clients_servers_and_functions_are_told_apart",
    "mix-up-replies-of-servers": "clients_servers_and_functions_are_told_apart",
    "mix-up-items-of-servers": "one_key_of_two_servers_is_two_items",
    "mix-up-functions": "clients_servers_and_functions_are_told_apart",
    "share-between-groups": "groups_never_read_each_others_entries",
    "fill-of-part": "reply_in_several_datagrams_does_not_fill",
    "fill-of-refusal": "replies_that_are_no_values_do_not_fill",
    "no-key-compare": "the_index_is_crc16_of_the_key",
    "first-operation-only": "mutation_anywhere_in_a_datagram_is_seen",
    "ignore-malformed": "malformed_request_ends_all_entries",
    "ignore-flush": "flush_ends_all_entries",
    "ignore-opaque-frames": "opaque_frame_ends_all_entries_behind_it",
    "fill-behind-unseen-mutation": "get_behind_an_unseen_mutation_does_not_fill_after_its_lifetime",
    "acknowledge-another-store": "acknowledgement_is_for_its_own_store_only",
    "acknowledge-mutation-as-set": "reply_to_a_delete_changes_no_other_entry",
    "no-key-length-compare": "keys_that_differ_by_a_zero_are_told_apart",
    "mix-up-items-of-server-ports": "one_key_at_two_ports_is_two_items",
    "mix-up-replies-of-server-ports": "requests_that_differ_in_one_field_are_both_filled",
    "mix-up-client-ports": "requests_that_differ_in_one_field_are_both_filled",
    "mix-up-opaques": "requests_that_differ_in_one_field_are_both_filled",
    "mix-up-opcodes": "requests_that_differ_in_one_field_are_both_filled",
    "store-behind-unseen-mutation": "set_behind_an_unseen_mutation_is_not_stored",
    "end-epochs-of-all-groups": "groups_never_read_each_others_entries",
    "pause-all-groups": "delayed_flush_of_a_group_leaves_others_on",
}
CORRUPTION = {
    "act-on-corrupt": "corrupt_mutation_changes_nothing",
    "ignore-ip-checksum": "corrupt_reply_does_not_fill",
    "ignore-udp-checksum": "corrupt_get_is_not_answered",
    "require-udp-checksum": "a_datagram_without_checksum_is_used",
    "ignore-lengths": "corrupt_acknowledgement_is_none",
    "act-on-corrupt-opaque-frames": "corrupt_unseen_mutation_ends_nothing",
    "answer-without-time-to-live": "request_at_the_end_of_its_time_to_live_passes",
    "invalidate-items-of-one-server": "mutation_at_another_address_of_a_server_invalidates",
}
CORE = {
    "keep-when-switched-on": "nothing_old_is_served_after_the_cache_was_off",
    "keep-when-reconfigured": "nothing_old_is_served_after_a_group_was_not_cached",
    "ignore-fragments": "unseen_mutations_end_all_entries",
    "ignore-long-frames": "unseen_mutations_end_all_entries",
}
BENCHES = {
    "kv_controller": CONTROLLER,
    "kv_corruption": CORRUPTION,
    "client_cache_core": CORE,
}
"""The case of a bench that finds a mutant, for each bench."""


def run(number: int, cases: Sequence[str], name: str, folder: Path) -> None:
    """Cases of the bench of this name, with a mutant."""
    name = f"bench_{name}"
    found = bench.load(name)
    bench.run(name, found.TOP, found.PARAMETERS[0], folder, cases=cases, mutant=number)


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: Mutant, tmp_path: Path) -> None:
    (name,) = (each for each, cases in BENCHES.items() if mutant.name in cases)
    case = BENCHES[name][mutant.name]
    with pytest.raises(AssertionError, match=f"{case}.* of bench_{name}"):
        run(mutant.number, [case], name, tmp_path)


@pytest.mark.parametrize("name", BENCHES)
def test_cases_pass_without_a_mutant(name: str, tmp_path: Path) -> None:
    run(0, sorted(set(BENCHES[name].values())), name, tmp_path)


def test_every_mutant_of_the_rtl_is_listed() -> None:
    assert {each.number for each in mutants.MUTANTS} <= places()
    listed = [name for cases in BENCHES.values() for name in cases]
    assert sorted(listed) == sorted(each.name for each in mutants.MUTANTS)
