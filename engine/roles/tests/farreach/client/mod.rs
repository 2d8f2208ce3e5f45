//! FarReach's client, frame by frame (`docs/farreach.md`, "Client"; `docs/testing.md` lists the
//! traps).
//!
//! Every trap is a test. It plays its script as it is, where nothing may go wrong, and once for
//! each of its protections without that protection, where something must. A last test plays every
//! script without every protection and demands that exactly the traps in the table fail.

mod keeping;
pub mod play;
mod property;
mod recovering;
mod releasing;
mod rules;
mod users;

use netkv_roles::Mutation;
use netkv_roles::farreach::mutation::{self, *};

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
        play.complaints
    }
}

traps! {
    of Play;

    value_that_was_read_is_collected_after_the_switch_failed:
        keeping::read, [ClientKeepsNoReads];
    embedded_record_is_collected_after_the_switch_failed:
        keeping::embedded, [ClientKeepsNoEmbedded],
        also [ClientKeepsNoReads];
    preserved_delete_is_told_as_a_delete:
        keeping::delete, [ClientKeepsNoDeletes],
        also [ClientKeepsNoReads];
    answer_that_comes_late_does_not_replace_a_newer_record:
        keeping::late_answer, [ClientKeepsOlder];
    record_that_nobody_would_collect_is_not_taken_for_an_answer:
        keeping::before_hello_is_answered, [ClientTakesWhatNobodyCollects],
        also [ClientKeepsNoReads];
    controller_hears_of_a_process_although_messages_are_lost:
        keeping::lost_hello, [ClientHellosOnce];
    write_that_is_sent_again_can_be_told_from_a_new_one:
        keeping::retry, [ClientStampsRetriesAnew];
    write_that_may_not_have_been_done_is_not_acknowledged:
        keeping::unknown_write, [ClientTakesUnknownAsDone];

    record_that_is_newer_than_the_snapshot_stays:
        releasing::written_after_the_point, [ClientReleasesNewer];
    key_admitted_after_the_snapshot_point_stays:
        releasing::admitted_after_the_point, [ClientReleasesUnlisted],
        also [ClientReleasesNewer];
    numbers_of_incomplete_snapshots_release_nothing:
        releasing::numbers_without_lists, [ClientCountsSnapshots],
        also [ClientReleasesUnlisted];
    record_of_an_uncached_key_is_released_in_the_end:
        releasing::no_longer_cached, [ClientKeepsUnlisted];
    record_stays_while_one_of_two_lists_has_its_key:
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

    records_are_told_whole_although_things_change_meanwhile:
        recovering::pieces, [ClientFreezesAgain];
    records_are_told_to_the_next_controller:
        recovering::controller_dies_after_collect, [ClientDropsAtCollect];
    late_answer_of_a_failed_switch_does_not_count:
        recovering::answer_of_the_dead, [ClientTakesPastAnswers],
        also [ClientKeepsNoEmbedded];
    clean_record_of_an_earlier_incarnation_is_read:
        recovering::clean_record, [ClientIgnoresCleanRecords];
    record_of_before_the_incarnation_was_raised_is_read:
        recovering::raised_incarnation, [ClientIgnoresRaises],
        also [ClientKeepsNoReads];
    late_copy_of_collect_is_no_recovery:
        recovering::late_collect, [ClientTellsDeadControllers],
        also [ClientFreezesAgain];
    record_that_is_newer_than_the_recovery_stays:
        recovering::newer_than_recovered, [ClientReleasesWhatIsNewer],
        also [ClientKeepsNoReads];
    late_copy_of_recovered_releases_nothing:
        recovering::late_recovered, [ClientReleasesForAnyIncarnation],
        also [ClientDropsAtCollect];
    record_of_the_new_incarnation_survives_a_late_recovery:
        recovering::collect_among_the_living, [ClientFreezesTheLiving],
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
