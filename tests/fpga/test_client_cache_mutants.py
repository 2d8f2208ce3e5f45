"""Each safety rule of the client-side cache, broken in the RTL, makes a case of a bench fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.fpga import sources
from netkv.fpga.mutants import Mutant, places
from netkv.schemes.client_cache import mutants
from tests.fpga import bench

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
    "serve-after-delayed-flush": "delayed_flush_ends_hits_until_a_command",
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
}
CORE = {
    "keep-when-switched-on": "nothing_old_is_served_after_the_cache_was_off",
    "keep-when-reconfigured": "nothing_old_is_served_after_a_group_was_not_cached",
    "ignore-fragments": "unseen_mutations_end_all_entries",
    "ignore-long-frames": "unseen_mutations_end_all_entries",
}
FIRST = 40
"""The first number that is not LaKe's."""


def run(number: int, case: str, module: str, folder: Path) -> None:
    name = f"bench_{module}"
    bench.run(
        name,
        f"{module}_mutants",
        bench.load(name).PARAMETERS[0],
        folder,
        further=[sources.folder() / "mutants"],
        variables={"NETKV_MUTANT": str(number), "COCOTB_TEST_FILTER": f"{case}$"},
    )


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: Mutant, tmp_path: Path) -> None:
    module = "kv_controller" if mutant.name in CONTROLLER else "client_cache_core"
    case = {**CONTROLLER, **CORE}[mutant.name]
    with pytest.raises(AssertionError, match=f"{case} of bench_{module}"):
        run(mutant.number, case, module, tmp_path)


@pytest.mark.parametrize("module", ["kv_controller", "client_cache_core"])
def test_cases_pass_without_a_mutant(module: str, tmp_path: Path) -> None:
    cases = CONTROLLER if module == "kv_controller" else CORE
    for number, case in enumerate(dict.fromkeys(cases.values())):
        folder = tmp_path / str(number)
        folder.mkdir()
        run(0, case, module, folder)


def test_every_mutant_of_the_rtl_is_listed() -> None:
    numbers = {each.number for each in mutants.MUTANTS}
    assert {each for each in places() if each >= FIRST} == {
        each for each in numbers if each >= FIRST
    }
    assert {each for each in numbers if each < FIRST} <= places()
