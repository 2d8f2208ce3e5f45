//! The server of a write-back cache, frame by frame (docs/schemes/farreach.md, "Server").
//!
//! A *trap* is an order of events in which a record is lost, an old one reappears or a write is
//! applied twice, if a protection is missing. Each plays its script with all protections, which
//! must not fail, and once without each of its protections, which must fail. Other guarantees for
//! users and the controller are tested beside the scripts.

// The library with mutants, in which no protection is disabled unless a test chooses one.
extern crate netkv_roles_mutants as netkv_roles;

#[path = "../common/mod.rs"]
mod common;

mod control;
mod frames;
mod guard;
mod offers;
mod once;
mod random;
mod reads;
mod rig;
mod tombstones;

use netkv_roles::Mutation;
use netkv_roles::mutation::{self, *};

use crate::common::traps::{self, Trap, traps};
use rig::Rig;

impl traps::Rack for Rig {
    type Mutant = Mutation;
    type Harm = String;
    type Setup = ();
    type Kind = ();

    const USUAL: () = ();

    fn kinds((): ()) -> Vec<()> {
        vec![()]
    }

    fn play(trap: &Trap<Self>, (): (), mutation: Option<Mutation>) -> Vec<String> {
        let mut rig = Self::new(mutation);
        (trap.script)(&mut rig);
        rig.wrong
    }
}

/// Protections that all servers of single keys have.
const SHARED: &[Mutation] = &[
    RepeatWrites,
    RepeatLateWrites,
    LeaveCopiesUnanswered,
    AnswerBeforeStored,
    OvertakeWrites,
    MatchAnswersByKey,
];

traps! {
    of Rig;

    write_that_was_delayed_does_not_overwrite_a_later_one:
        guard::delayed_write, [StoreUnguarded];
    delete_is_not_undone_by_an_older_eviction:
        guard::eviction_after_a_delete, [RestoreAnything, LeaveNoTombstones],
        also [StoreUnguarded];
    evicted_record_is_not_overwritten_by_an_older_write:
        guard::write_after_an_eviction, [StoreUnguarded];
    newest_write_is_kept_when_numbers_wrap:
        guard::numbers_at_the_wrap, [PlainSequences],
        also [StoreUnguarded, RestoreAnything];
    newest_write_is_kept_when_incarnations_wrap:
        guard::incarnations_at_the_wrap, [PlainSequences],
        also [StoreUnguarded];
    concurrent_writes_of_one_key_leave_the_newest:
        guard::concurrent_writes, [OvertakeWrites],
        also [StoreUnguarded, AnswerBeforeStored];
    write_is_acknowledged_when_the_store_has_it:
        guard::failure_before_the_store_has_it, [AnswerBeforeStored];

    copy_of_a_write_with_a_newer_number_undoes_no_later_write:
        once::late_copy_of_a_write, [RepeatWrites],
        also [LeaveCopiesUnanswered, LeaveCopiesUnnumbered];
    copy_of_a_write_undoes_nothing_after_a_restart:
        once::copy_after_a_restart, [RepeatWrites],
        also [LeaveCopiesUnanswered, LeaveCopiesUnnumbered];
    overwritten_write_is_not_applied_after_a_restart:
        once::copy_of_an_overwritten_write, [ForgetGuarded],
        also [StoreUnguarded, RepeatWrites, LeaveCopiesUnanswered, LeaveCopiesUnnumbered];
    copy_older_than_the_window_undoes_no_later_write:
        once::very_late_copy_of_a_write, [RepeatLateWrites];
    write_whose_answer_was_lost_is_answered_with_what_is_stored:
        once::lost_answer, [LeaveCopiesUnanswered, LeaveCopiesUnnumbered],
        also [RepeatWrites];
    write_that_a_failed_switch_may_have_applied_is_not_applied:
        once::write_of_a_past_incarnation, [DoPastWrites],
        also [RepeatWrites, LeaveCopiesUnanswered];
    known_write_of_a_past_incarnation_is_answered_ok:
        once::known_past_write, [LeaveCopiesUnanswered, LeaveCopiesUnnumbered],
        also [RepeatWrites];

    acknowledged_write_is_read_before_its_eviction_arrives:
        reads::read_of_an_evicted_record, [IgnoreEmbedded];
    acknowledged_delete_is_read_before_its_eviction_arrives:
        reads::read_of_an_evicted_tombstone, [IgnoreEmbedded];
    record_embedded_in_a_read_does_not_hide_a_later_write:
        reads::read_with_an_outdated_record, [AnswerEmbedded, LeaveNoTombstones];
    newest_record_is_read_when_numbers_wrap:
        reads::embedded_record_at_the_wrap, [PlainSequences],
        also [IgnoreEmbedded, AnswerEmbedded];

    offer_of_a_hot_record_is_repeated_until_answered:
        offers::lost_offer, [OfferOnce];
    hot_record_is_offered_once_until_the_answer:
        offers::many_hot_requests, [OfferAgain];
    hot_record_that_was_refused_is_offered_again_a_second_later:
        offers::refused_offer, [NoCoolDownAfterOffers],
        also [OfferAgain];
    record_that_no_switch_can_cache_is_not_offered:
        offers::unfit_records, [OfferAnything],
        also [StoreUnguarded];
    late_copy_of_an_answer_does_not_end_the_next_offer:
        offers::late_copy_of_an_answer, [MatchAnswersByKey],
        also [OfferOnce];

    restored_record_does_not_overwrite_a_later_write:
        control::older_record, [RestoreAnything];
    late_copy_of_a_restore_does_not_overwrite_a_later_write:
        control::late_copy_of_a_restore, [RestoreAnything];
    evicted_record_survives_the_failure_of_its_server:
        control::failure_before_a_record_is_stored, [AnswerRestoreEarly];

    delete_is_not_undone_by_a_snapshot_or_a_client:
        tombstones::some_snapshots_later, [DropTombstonesAtAnyWatermark],
        also [RestoreAnything, LeaveNoTombstones];
    delete_is_not_undone_by_a_frame_that_was_under_way:
        tombstones::some_snapshots_within_minutes, [DropYoungTombstones],
        also [RestoreAnything, LeaveNoTombstones];
    delete_is_not_undone_after_copies_of_a_watermark:
        tombstones::copies_of_a_watermark, [CountWatermarkCopies],
        also [DropTombstonesAtAnyWatermark, RestoreAnything, LeaveNoTombstones];
    delete_is_not_undone_after_an_old_watermark_and_a_restart:
        tombstones::copy_of_a_watermark_after_a_restart, [CountWatermarkCopies],
        also [DropTombstonesAtAnyWatermark, RestoreAnything, LeaveNoTombstones];
    record_that_overwrote_a_tombstone_is_not_dropped:
        tombstones::late_result_with_a_tombstone, [DropUnchecked];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, &[]);
}

#[test]
fn every_protection_of_the_server_has_a_trap() {
    traps::every_one_has_a_trap(TRAPS, &[mutation::WRITE_BACK, SHARED]);
}

#[test]
fn documentation_has_every_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}
