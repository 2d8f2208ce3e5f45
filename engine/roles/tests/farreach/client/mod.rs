//! FarReach's client, frame by frame (`docs/schemes/farreach.md`, "Client";
//! `docs/internals/traps.md` lists the traps).
//!
//! Every trap is a test. It plays its script with all protections, which must not fail, and once
//! without each of its protections, which must fail. A last test plays every script without every
//! protection and checks that exactly the traps in the table fail.

mod keeping;
pub mod play;
mod property;
mod recovering;
mod releasing;
mod rules;
mod users;

use netkv_roles::Mutation;
use netkv_roles::mutation::{self, *};

use crate::common::traps::{self, Trap, traps};
use play::Play;

impl traps::Rack for Play {
    type Mutant = Mutation;
    type Harm = String;
    type Setup = ();
    type Kind = ();

    const USUAL: () = ();

    fn kinds((): ()) -> Vec<()> {
        vec![()]
    }

    fn play(trap: &Trap<Self>, (): (), mutation: Option<Mutation>) -> Vec<String> {
        let mut play = Self::new(mutation);
        (trap.script)(&mut play);
        play.failures
    }
}

traps! {
    of Play;

    value_that_was_read_is_collected_after_the_switch_failed:
        keeping::read, [ClientKeepsNoReads];
    embedded_record_is_collected_after_the_switch_failed:
        keeping::embedded, [ClientKeepsNoEmbedded],
        also [ClientKeepsNoReads];
    preserved_delete_is_collected_as_a_delete:
        keeping::delete, [ClientKeepsNoDeletes],
        also [ClientKeepsNoReads];
    late_answer_does_not_replace_a_newer_record:
        keeping::late_answer, [ClientKeepsOlder];
    record_that_would_not_be_collected_is_not_an_answer:
        keeping::before_hello_is_answered, [ClientAcceptsBeforeHello],
        also [ClientKeepsNoReads];
    process_is_registered_although_messages_are_lost:
        keeping::lost_hello, [ClientHellosOnce];
    retransmitted_write_keeps_its_incarnation:
        keeping::retry, [ClientStampsRetriesAnew];
    write_with_unknown_effect_is_not_acknowledged:
        keeping::unknown_write, [ClientTakesUnknownAsDone];

    record_newer_than_the_snapshot_is_kept:
        releasing::written_after_the_point, [ClientReleasesNewer];
    record_of_a_key_admitted_after_the_snapshot_is_kept:
        releasing::admitted_after_the_point, [ClientReleasesUnlisted],
        also [ClientReleasesNewer];
    numbers_of_incomplete_snapshots_release_nothing:
        releasing::numbers_without_lists, [ClientCountsSnapshots],
        also [ClientReleasesUnlisted];
    record_of_an_uncached_key_is_finally_released:
        releasing::no_longer_cached, [ClientKeepsUnlisted];
    record_is_kept_while_one_of_two_lists_has_its_key:
        releasing::listed_once_more, [ClientLooksAtOneList],
        also [ClientReleasesNewer, ClientReleasesUnlisted, ClientKeepsUnlisted];
    list_with_a_missing_part_releases_nothing:
        releasing::missing_part, [ClientReleasesWithoutAPart],
        also [ClientReleasesNewer];
    parts_of_two_lists_release_nothing:
        releasing::parts_of_two_lists, [ClientMixesLists],
        also [ClientReleasesWithoutAPart];
    copies_of_a_list_release_nothing:
        releasing::copies_of_a_list, [ClientTakesOldLists],
        also [ClientReleasesUnlisted];

    collected_list_does_not_change_between_pages:
        recovering::collect_in_pages, [ClientCollectsAnew];
    records_are_collected_again_by_the_next_controller:
        recovering::controller_fails_after_collect, [ClientDropsAtCollect];
    late_answer_of_a_failed_switch_is_ignored:
        recovering::answer_of_a_failed_switch, [ClientTakesPastAnswers],
        also [ClientKeepsNoEmbedded];
    clean_record_of_an_earlier_incarnation_is_read:
        recovering::clean_record, [ClientIgnoresCleanRecords];
    record_from_before_a_raised_incarnation_is_read:
        recovering::raised_incarnation, [ClientIgnoresRaises],
        also [ClientKeepsNoReads];
    late_copy_of_collect_starts_no_recovery:
        recovering::late_collect, [ClientAnswersEarlierCollects],
        also [ClientCollectsAnew];
    record_newer_than_the_recovery_is_kept:
        recovering::newer_than_recovered, [ClientReleasesWhatIsNewer],
        also [ClientKeepsNoReads];
    late_copy_of_recovered_releases_nothing:
        recovering::late_recovered, [ClientReleasesForAnyIncarnation],
        also [ClientDropsAtCollect];
    record_of_the_new_incarnation_survives_a_late_recovery:
        recovering::late_collect_of_the_current_incarnation, [ClientCollectsTheNewIncarnation],
        also [ClientDropsAtCollect];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, &[]);
}

#[test]
fn every_protection_of_the_client_has_a_trap() {
    let of_stamps = [ClientStampsRetriesAnew, ClientTakesUnknownAsDone];
    traps::every_one_has_a_trap(TRAPS, &[mutation::CLIENT, &of_stamps]);
}

#[test]
fn documentation_has_every_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}
