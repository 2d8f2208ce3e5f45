//! The traps of NetCache (`docs/internals/traps.md`), over the shipped program `p4/netcache`,
//! compiled and executed by netkv, with the real client and server. A script delivers each frame.
//!
//! Every trap is a test. It plays its script with all protections, which must do no harm, and once
//! without each of its protections, which must do harm. A last test plays every script without
//! every protection and checks that exactly the traps in the table fail.

mod admission;
mod control;
mod mutants;
pub mod rack;
mod requests;
mod restarts;
mod updates;
mod values;

use netkv_roles::mutation;

use crate::common::program::{self, Edit};
use crate::common::rack::Harm;
use crate::common::traps::{self, traps};
use mutants::*;
use rack::Rack;

traps! {
    of Rack;

    delayed_update_does_not_bring_back_an_overwritten_value:
        updates::delayed_update, [ANY_VERSION => StaleRead];
    write_from_before_the_entry_leaves_no_old_value_in_it:
        updates::write_before_the_entry,
        [
            TRUST_WITHOUT_METADATA => StaleRead,
            INVALIDATE_KEEPS => StaleRead
        ];
    write_is_answered_though_its_invalidation_was_lost:
        updates::lost_invalidation, [INVALIDATE_ONCE => NoAnswer],
        also [TRUST_WITHOUT_METADATA];
    acknowledged_write_is_read_while_its_update_is_lost:
        updates::lost_update, [PUT_KEEPS => StaleRead, UPDATE_ONCE => NoAnswer];
    writes_continue_although_an_acknowledgement_was_lost:
        updates::lost_acknowledgement, [UPDATE_ONCE => NoAnswer];
    copies_of_update_and_answer_do_not_end_the_next_update:
        updates::duplicate_update_and_acknowledgement,
        [
            ANSWERS_BY_KEY => NotServed,
            ANY_VERSION => StaleRead,
            UPDATE_ONCE => NotServed
        ];
    late_answer_does_not_acknowledge_a_write_too_early:
        updates::answer_to_an_earlier_request, [ANSWERS_BY_KEY => StaleRead],
        also [TRUST_WITHOUT_METADATA, REPLIES_BY_KEY];
    read_in_flight_does_not_revalidate_an_old_value:
        updates::read_in_flight, [ANY_VERSION => StaleRead],
        also [REQUEST_ONCE];
    write_overtaken_by_a_refill_is_acknowledged_in_time:
        updates::write_overtaken_by_a_refill, [TRUST_OLD_VERSIONS => StaleRead],
        also [INVALIDATE_KEEPS, REPLIES_BY_KEY];
    reordered_writes_leave_the_same_one_in_switch_and_store:
        updates::reordered_writes, [TRUST_OLD_VERSIONS => StaleRead];
    reordered_writes_at_the_wrap_leave_one_in_switch_and_store:
        updates::reordered_writes_at_the_wrap,
        [
            PLAIN_VERSIONS => StaleRead,
            TRUST_OLD_VERSIONS => StaleRead
        ];
    concurrent_writes_of_one_key_are_both_answered:
        updates::concurrent_writes, [OVERTAKE => NoAnswer];
    key_is_served_again_after_a_write_lost_behind_the_switch:
        updates::write_lost_behind_the_switch, [NO_REFRESH => NotServed],
        also [REQUEST_ONCE];
    key_is_served_again_after_a_copy_of_a_write:
        updates::copy_invalidates, [NO_REFRESH => NotServed];

    value_that_outgrew_its_entry_is_read_from_its_server:
        values::outgrown_value, [LARGE_PUT_KEEPS => StaleRead, PUSH_ANY_SIZE => NoAnswer];
    deleted_key_stays_deleted:
        values::deleted_key, [DELETE_KEEPS => StaleRead];
    entry_of_an_outgrown_value_is_freed_after_a_loss:
        values::lost_outgrown, [OUTGROWN_ONCE => NotFreed],
        also [PUSH_ANY_SIZE];
    update_that_was_cut_leaves_no_mixed_value:
        values::update_that_was_cut, [CUT_FRAMES => WrongValue];
    frames_that_grow_and_shrink_arrive:
        values::frames_that_grow_and_shrink,
        [
            LENGTH_WITHOUT_METADATA => NoAnswer,
            LENGTH_WITHOUT_VALUE => NoAnswer,
            OLD_IP_CHECKSUM => NoAnswer
        ];
    read_with_a_udp_checksum_is_answered:
        values::read_with_a_checksum, [OLD_UDP_CHECKSUM => NoAnswer];

    update_of_an_earlier_entry_does_not_fill_the_next:
        admission::update_of_an_earlier_entry,
        [
            ANY_GENERATION => StaleRead,
            SAME_GENERATION => StaleRead
        ];
    reused_entry_does_not_serve_its_earlier_value:
        admission::reused_entry, [VALID_IS_A_BIT => StaleRead, SAME_GENERATION => StaleRead];
    cells_of_an_entry_are_not_read_under_another_key:
        admission::cells_of_another_key, [EARLY_REUSE => WrongValue];
    key_whose_value_grows_during_its_admission_is_admitted:
        admission::write_between_admission_and_insertion, [HOLD_NOTHING => NotAdmitted],
        also [TRUST_WITHOUT_METADATA, OVERTAKE];
    write_is_answered_although_the_controller_failed:
        admission::controller_fails_after_admit, [HOLD_FOR_EVER => NoAnswer],
        also [REQUEST_ONCE];
    late_copy_of_an_admission_delays_no_writes:
        admission::late_copy_of_admit, [REPEAT_CONTROL => NoAnswer];
    late_eviction_message_does_not_remove_the_next_record:
        admission::late_message_of_an_eviction, [EVICT_ANY => StaleRead],
        also [TRUST_WITHOUT_METADATA, INVALIDATE_KEEPS, SAME_GENERATION];
    write_with_metadata_of_an_earlier_entry_is_not_trusted:
        admission::write_with_metadata_of_a_former_entry, [TRUST_GENERATIONS => StaleRead],
        also [INVALIDATE_KEEPS, SAME_GENERATION];
    forged_cache_metadata_is_not_trusted:
        admission::forged_metadata, [FOREIGN_METADATA => StaleRead],
        also [TRUST_WITHOUT_METADATA, INVALIDATE_KEEPS];

    switch_restart_within_a_write_restores_no_old_value:
        restarts::switch_restarts_within_a_write,
        [
            SAME_GENERATION => StaleRead,
            ANY_GENERATION => StaleRead
        ];
    restarted_server_does_not_trust_writes_without_metadata:
        restarts::server_forgets_an_entry, [NO_GUARD => StaleRead],
        also [INVALIDATE_KEEPS];
    restarted_server_does_not_trust_cache_metadata:
        restarts::server_forgets_its_pushes, [TRUST_METADATA => StaleRead],
        also [INVALIDATE_KEEPS, REPLIES_BY_KEY];
    answer_to_a_failed_server_acknowledges_no_later_write:
        restarts::answer_to_a_failed_server, [OLD_NUMBERS => StaleRead],
        also [ANSWERS_BY_KEY, NO_GUARD, REPLIES_BY_KEY];
    restarted_server_does_not_repeat_an_applied_write:
        restarts::server_forgets_applied_writes,
        [
            NO_MEMORY => StaleRead,
            REPEAT_WRITES => StaleRead
        ],
        also [SILENT_COPIES, REQUEST_ONCE, REPLIES_BY_KEY];
    acknowledged_write_survives_the_failure_of_its_server:
        restarts::server_fails_before_storing, [ANSWER_EARLY => StaleRead],
        also [REQUEST_ONCE];

    late_copy_of_a_write_does_not_undo_another_clients_write:
        requests::late_copy_of_a_write, [REPEAT_WRITES => StaleRead],
        also [REQUEST_ONCE];
    copy_older_than_the_dedup_window_undoes_no_later_write:
        requests::very_late_copy_of_a_write, [REPEAT_LATE_WRITES => StaleRead],
        also [REQUEST_ONCE];
    lost_request_is_sent_again:
        requests::lost_request, [REQUEST_ONCE => NoAnswer];
    write_whose_answer_was_lost_is_answered_again:
        requests::lost_answer, [SILENT_COPIES => NoAnswer],
        also [REQUEST_ONCE];
    late_answer_to_an_earlier_read_is_not_taken_for_a_later_one:
        requests::late_answer_to_an_earlier_read, [REPLIES_BY_KEY => StaleRead];
    write_that_the_store_refused_is_not_acknowledged:
        requests::refused_write, [ANSWER_FAILURES => StaleRead],
        also [ANSWER_EARLY];
    late_copy_of_an_epoch_does_not_hide_a_hot_key:
        requests::late_copy_of_an_epoch, [ANY_EPOCH => NotReported];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, &[]);
}

#[test]
fn every_protection_of_a_role_has_a_trap() {
    let of_keys = [mutation::MatchAnswersByKey, mutation::MatchRepliesByKey];
    traps::every_one_has_a_trap(TRAPS, &[mutation::REQUESTS, mutation::WRITE_THROUGH, &of_keys]);
}

#[test]
fn documentation_has_every_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}

#[test]
fn edits_apply_to_the_shipped_program() {
    program::assert_edits_are_of_what_ships("netcache");
}

#[test]
fn edit_of_a_text_that_occurs_never_or_twice_is_refused() {
    let edit = |find| Edit { find, replace: "" };
    assert!(program::apply("a b a", &edit("c")).unwrap_err().contains("no 'c' any more"));
    assert!(program::apply("a b a", &edit("a")).unwrap_err().contains("'a' 2 times"));
    assert_eq!(program::apply("a b a", &edit(" b")).unwrap(), "a a");
}
