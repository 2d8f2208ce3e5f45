//! FarReach's client, frame by frame (`docs/farreach.md`, "Client"; `docs/testing.md` lists the
//! traps).
//!
//! Every trap is a test. It plays its script as it is, where nothing may go wrong, and once for
//! each of its protections without that protection, where something must. A last test plays every
//! script without every protection and demands that exactly the traps in the table fail.

mod keeping;
mod play;
mod property;
mod recovering;
mod releasing;
mod rules;
mod users;

use netkv_roles::Mutation;
use netkv_roles::farreach::mutation;

use play::Play;

/// A trap: what happens, the protections against it, and those that its script takes for granted.
struct Trap {
    name: &'static str,
    script: fn(&mut Play),
    mutations: &'static [Mutation],
    also: &'static [Mutation],
}

/// What goes wrong.
fn complaints(script: fn(&mut Play), mutation: Option<Mutation>) -> Vec<String> {
    let mut play = Play::new(mutation);
    script(&mut play);
    play.complaints
}

impl Trap {
    fn check(&self) {
        let wrong = complaints(self.script, None);
        assert!(wrong.is_empty(), "with all protections: {wrong:?}");
        for mutation in self.mutations {
            let wrong = complaints(self.script, Some(*mutation));
            assert!(!wrong.is_empty(), "{mutation:?} harms nobody");
        }
    }
}

macro_rules! traps {
    ($($name:ident: $script:path,
        [$($mutation:ident),*] $(, also [$($also:ident),+])?;)+) => {
        const TRAPS: &[Trap] = &[$(Trap {
            name: stringify!($name),
            script: $script,
            mutations: &[$(mutation::$mutation),*],
            also: &[$($(mutation::$also),+)?],
        }),+];
        $(
            #[test]
            fn $name() {
                let trap = TRAPS.iter().find(|trap| trap.name == stringify!($name));
                trap.expect("every trap is in the table").check();
            }
        )+
    };
}

traps! {
    value_that_was_seen_is_told_when_the_switch_has_died:
        keeping::read, [ClientKeepsNoReads];
    value_that_a_server_passed_on_from_the_switch_is_told_when_it_has_died:
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
    record_of_a_key_that_is_no_longer_cached_is_not_kept_for_ever:
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
    answer_of_a_dead_switch_does_not_count_when_its_records_have_been_told:
        recovering::answer_of_the_dead, [ClientTakesPastAnswers],
        also [ClientKeepsNoEmbedded];
    record_from_before_the_life_of_the_switch_is_read:
        recovering::clean_record, [ClientIgnoresCleanRecords];
    record_from_before_the_life_was_raised_is_read:
        recovering::former_era, [ClientIgnoresEras],
        also [ClientKeepsNoReads];
    late_copy_of_collect_is_no_recovery:
        recovering::late_collect, [ClientTellsDeadControllers],
        also [ClientFreezesAgain];
    record_that_is_newer_than_the_recovery_stays:
        recovering::newer_than_recovered, [ClientReleasesWhatIsNewer],
        also [ClientKeepsNoReads];
    late_copy_of_recovered_does_not_release_what_the_next_recovery_needs:
        recovering::late_recovered, [ClientThawsForAnyLife],
        also [ClientDropsAtCollect];
    record_of_the_living_switch_stays_when_a_recovery_before_it_ends:
        recovering::collect_among_the_living, [ClientFreezesTheLiving],
        also [ClientDropsAtCollect];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    let mut wrong = String::new();
    let stamps = [mutation::ClientStampsRetriesAnew, mutation::ClientTakesUnknownAsDone];
    for mutation in mutation::CLIENT.iter().chain(&stamps) {
        let own = TRAPS.iter().any(|trap| trap.mutations.contains(mutation));
        assert!(own, "{mutation:?} has no trap");
        for trap in TRAPS {
            let expected = trap.mutations.contains(mutation) || trap.also.contains(mutation);
            let found = complaints(trap.script, Some(*mutation));
            if expected == found.is_empty() {
                wrong += &format!("{mutation:?}: {}: {found:?}\n", trap.name);
            }
        }
    }
    assert!(wrong.is_empty(), "other than the table says:\n{wrong}");
}

#[test]
fn the_documentation_has_every_trap_with_its_mutants() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let text = std::fs::read_to_string(file).unwrap();
    for trap in TRAPS {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{}` |", trap.name)));
        let row = row.unwrap_or_else(|| panic!("docs/testing.md has no row for {}", trap.name));
        for mutation in trap.mutations {
            assert!(row.contains(&format!("`{mutation:?}`")), "no {mutation:?} in: {row}");
        }
    }
}
