//! The traps of FarReach (`docs/internals/traps.md`), over the shipped program `p4/farreach`,
//! compiled and executed by netkv, with real clients and a real server. A script delivers each
//! frame.
//!
//! Every trap is a test. It plays its script with all protections, which must do no harm, and once
//! without each of its protections, which must do harm. A last test plays every script without
//! every protection and checks that exactly the traps in the table fail.

mod admission;
mod control;
mod eviction;
mod incarnations;
mod mutants;
mod rack;
mod snapshots;
mod switch;

use crate::common::program;
use crate::common::rack::Harm;
use crate::common::traps::{self, traps};
use mutants::*;
use rack::Rack;

/// Scripts about several pipelines are played with two.
const TWO: &[usize] = &[2];

traps! {
    of Rack;

    read_reply_from_before_a_write_does_not_refresh_the_entry:
        admission::read_in_flight, [OLD_REPLIES => StaleRead];
    record_overwritten_before_its_admission_is_not_served:
        admission::filled_with_an_old_record, [FILLED_IS_LATEST => StaleRead];
    write_from_before_the_admission_outdates_the_entry:
        admission::write_before_the_entry,
        [NEWER_KEEPS => StaleRead, REPLIES_PASS_BY => StaleRead];
    read_reply_behind_a_later_write_does_not_refresh_the_entry:
        admission::reordered_replies,
        [OLD_REPLIES => StaleRead, MAXIMUM_STAYS => StaleRead],
        also [REPLIES_PASS_BY];
    copy_of_an_admission_does_not_undo_a_write:
        admission::late_copy_of_fill, [FILL_AGAIN => StaleRead];
    copy_of_a_validity_change_does_not_touch_the_next_entry:
        admission::late_copy_of_validate, on TWO,
        [ANY_CONTROL => StaleRead],
        also [FILLED_IS_LATEST, FILL_VALIDATES];
    read_reply_of_a_former_filling_does_not_refresh_the_next:
        admission::late_reply_of_a_former_filling, [ANY_GENERATION => StaleRead],
        also [FILLED_IS_LATEST];
    entry_missing_in_one_pipeline_takes_no_write:
        admission::pipeline_without_the_entry_yet, on TWO,
        [VALIDATE_EARLY => StaleRead, FILL_VALIDATES => StaleRead],
        also [FILLED_IS_LATEST];
    value_above_the_limit_is_read_from_its_server:
        admission::value_above_the_limit,
        [NEWER_KEEPS => StaleRead, ANSWER_EMBEDDED => StaleRead],
        also [EVICTED_KEEPS, RESTORE_ANYTHING];
    late_delete_is_not_undone_by_the_record_of_the_entry:
        admission::delete_applied_late, [OUTDATED_STAYS_DIRTY => StaleRead],
        also [REFRESH_AFTER_POINT];

    acknowledged_write_is_read_though_a_later_one_was_lost:
        eviction::write_lost_behind_the_switch,
        [EMBED_NOTHING => StaleRead, IGNORE_EMBEDDED => StaleRead],
        also [NEWER_KEEPS, ANSWER_EMBEDDED, EVICTED_KEEPS, RESTORE_ANYTHING, REQUEST_ONCE];
    write_during_an_eviction_is_read_before_the_entry_is_gone:
        eviction::write_during_an_eviction,
        [EVICTED_KEEPS => StaleRead, ANSWER_EMBEDDED => StaleRead],
        also [NEWER_KEEPS, RESTORE_ANYTHING];
    acknowledged_delete_is_not_undone_by_an_older_eviction:
        eviction::delete_before_the_eviction_arrives,
        [RESTORE_ANYTHING => StaleRead, NO_TOMBSTONES => StaleRead];
    copy_of_an_eviction_does_not_undo_a_write:
        eviction::late_copy_of_restore, [RESTORE_ANYTHING => StaleRead];
    acknowledged_write_survives_the_eviction_of_its_entry:
        eviction::dirty_record, [RESTORE_NOTHING => StaleRead];
    entry_removed_from_one_pipeline_answers_no_read:
        eviction::pipeline_without_the_entry, on TWO,
        [RETIRE_LATE => StaleRead, RETIRED_SERVES => StaleRead];

    write_from_before_the_admission_does_not_undo_an_eviction:
        eviction::write_from_before_the_entry, [UNGUARDED => StaleRead],
        also [RESTORE_NOTHING];

    copy_of_an_applied_write_undoes_nothing_after_an_eviction:
        eviction::copy_of_a_write_whose_entry_is_gone, [FORGET_WITH_ENTRY => StaleRead],
        also [APPLY_COPIES, REQUEST_ONCE];
    copy_of_an_applied_write_does_not_undo_another_clients_write:
        eviction::late_copy_of_a_write, [APPLY_COPIES => StaleRead];
    copy_of_a_forwarded_write_is_not_applied_to_an_entry:
        eviction::copy_of_a_write_that_was_forwarded,
        [APPLY_FORWARDED => StaleRead, REPEAT_WRITES => StaleRead],
        also [APPLY_COPIES, REQUEST_ONCE];
    write_whose_answer_by_the_switch_was_lost_is_answered_again:
        eviction::lost_answer, [REQUEST_ONCE => NoAnswer];

    put_after_the_point_is_not_in_the_snapshot:
        snapshots::put_across_the_point, on TWO,
        [NO_REDIRECTION => TornSnapshot, STAY_IN_PIPELINE => TornSnapshot],
        also [REPORT_AGAIN];
    delete_after_the_point_is_not_in_the_snapshot:
        snapshots::delete_across_the_point, on TWO,
        [NO_REDIRECTION => TornSnapshot, STAY_IN_PIPELINE => TornSnapshot],
        also [REPORT_AGAIN];
    read_reply_after_the_point_is_not_in_the_snapshot:
        snapshots::read_reply_across_the_point, [REFRESH_AFTER_POINT => TornSnapshot];
    second_write_after_the_point_is_not_taken_for_the_original:
        snapshots::two_writes_after_the_point, [REPORT_AGAIN => TornSnapshot];
    every_snapshot_has_the_original_of_its_own_point:
        snapshots::a_write_in_each_of_two_snapshots, [REPORT_AGAIN => TornSnapshot];
    newest_record_of_two_clients_and_the_snapshot_is_recovered:
        snapshots::newest_of_clients_and_snapshot,
        [SNAPSHOT_WINS => StaleRead, COLLECT_FROM_ONE => StaleRead];
    preserved_delete_is_recovered_as_a_delete:
        snapshots::preserved_delete, [KEEP_NO_DELETES => StaleRead],
        also [SNAPSHOT_WINS];

    evicted_record_at_the_wrap_of_numbers_is_stored:
        incarnations::eviction_at_the_wrap, [PLAIN_SEQUENCES => StaleRead],
        also [RESTORE_NOTHING];
    write_at_the_wrap_of_numbers_outdates_the_entry:
        incarnations::reply_at_the_wrap, [PLAIN_NUMBERS => StaleRead],
        also [NEWER_KEEPS, REPLIES_PASS_BY, PLAIN_SEQUENCES];
    write_at_the_wrap_of_incarnations_is_stored:
        incarnations::incarnations_at_the_wrap, [PLAIN_SEQUENCES => StaleRead];
    record_of_a_past_incarnation_is_older_than_every_new_write:
        incarnations::record_of_a_past_incarnation, [ANY_INCARNATION => StaleRead],
        also [NEWER_KEEPS, REPLIES_PASS_BY];
    write_of_a_past_incarnation_outdates_the_entry:
        incarnations::past_write_reaches_the_server,
        [PAST_IS_OLDEST => StaleRead],
        also [NEWER_KEEPS, REPLIES_PASS_BY];
    read_reply_behind_a_write_of_a_past_incarnation_refreshes_nothing:
        incarnations::past_write_and_reordered_replies,
        [PAST_IS_OLDEST => StaleRead],
        also [OLD_REPLIES, MAXIMUM_STAYS, REPLIES_PASS_BY];
    write_of_a_past_incarnation_is_not_applied_twice:
        incarnations::write_of_a_past_incarnation,
        [DO_PAST => StaleRead, PAST_NOT_SET => StaleRead, STAMP_ANEW => StaleRead],
        also [REQUEST_ONCE];
    write_of_a_past_incarnation_is_not_applied_by_the_switch:
        incarnations::past_write_to_a_cached_key, [APPLY_PAST => StaleRead],
        also [DO_PAST, PAST_NOT_SET];
    answer_of_a_failed_switch_acknowledges_no_write:
        incarnations::answer_of_a_failed_switch, [TAKE_PAST => StaleRead],
        also [REQUEST_ONCE];
    value_that_was_read_survives_the_switch:
        incarnations::value_that_was_read, [KEEP_NO_READS => StaleRead],
        also [REQUEST_ONCE, COLLECT_FROM_ONE];
    value_read_through_its_server_survives_the_switch:
        incarnations::value_read_through_the_server, [KEEP_NO_EMBEDDED => StaleRead],
        also [REQUEST_ONCE, COLLECT_FROM_ONE, KEEP_NO_READS];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, &[]);
}

#[test]
fn documentation_has_every_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}

#[test]
fn edits_apply_to_the_shipped_program() {
    program::assert_edits_are_of_what_ships("farreach");
}
