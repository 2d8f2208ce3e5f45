"""Each safety rule of LaKe, broken in the RTL, makes a test of test_lake_rules.py fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from netkv.fpga.mutants import Mutant, places
from netkv.schemes.lake import mutants
from tests.fpga import test_lake_rules as traps
from tests.fpga.lake import Lab, Lake

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
    "serve-after-delayed-flush": traps.test_delayed_flush_stops_hits_until_a_command,
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
}

FIRST_OF_CLIENT_CACHE = 40


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(lake_library: Path, mutant: Mutant) -> None:
    with pytest.raises(AssertionError):
        FOUND_BY[mutant.name](Lab(Lake(lake_library, mutant=mutant.number)))


def test_every_mutant_of_the_rtl_is_listed() -> None:
    numbers = [each.number for each in mutants.MUTANTS]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {each for each in places() if each < FIRST_OF_CLIENT_CACHE} == set(numbers)
