//! The traps of DistCache's data plane (`docs/internals/traps.md`): a server with copies in two
//! layers, over the shipped programs `p4/distcache`. The traps of one layer are those of NetCache.

// The library with mutants, in which no protection is disabled unless a test chooses one.
extern crate netkv_roles_mutants as netkv_roles;

#[path = "../common/mod.rs"]
mod common;

mod control;
mod histories;
mod lost;
mod mutants;
mod rack;
mod restarts;
mod switches;
mod writes;

use netkv_roles::mutation;

use crate::common::program;
use crate::common::rack::Harm;
use crate::common::traps::{self, traps};
use mutants::*;
use rack::Rack;

traps! {
    of Rack;

    acknowledged_write_is_read_from_both_copies:
        writes::write_of_both_copies,
        [
            FORGET_UPPER => StaleRead,
            INVALIDATE_KEEPS => StaleRead,
            PUT_KEEPS => StaleRead
        ];
    write_is_acknowledged_after_the_upper_copy_is_invalid:
        writes::invalidation_under_way, [FORGET_UPPER => StaleRead];
    write_is_answered_though_its_upper_invalidation_was_lost:
        writes::lost_invalidation, [INVALIDATE_ONCE => NoAnswer],
        also [FORGET_UPPER];
    write_is_answered_though_the_upper_answer_was_lost:
        writes::lost_answer, [INVALIDATE_ONCE => NoAnswer],
        also [FORGET_UPPER];
    upper_copy_is_served_again_though_its_update_was_lost:
        writes::lost_update, [UPDATE_ONCE => NotServed, ANSWERS_BY_KEY => NotServed],
        also [FORGET_UPPER];
    writes_continue_though_the_upper_acknowledgement_was_lost:
        writes::lost_acknowledgement, [UPDATE_ONCE => NoAnswer],
        also [FORGET_UPPER, ANSWERS_BY_KEY];
    copies_of_upper_answers_do_not_end_the_next_write:
        writes::duplicate_answers, [ANSWERS_BY_KEY => NoAnswer],
        also [FORGET_UPPER, INVALIDATE_ONCE];
    late_copy_of_an_update_restores_no_old_upper_copy:
        writes::late_update, [ANY_VERSION => StaleRead],
        also [FORGET_UPPER, INVALIDATE_KEEPS, ANSWERS_BY_KEY];
    deleted_key_is_not_read_from_the_upper_copy:
        writes::deleted_key, [FORGET_UPPER => StaleRead, INVALIDATE_KEEPS => StaleRead];
    value_that_fits_one_layer_only_is_read_from_its_server:
        writes::outgrown_upper_copy, [PUSH_ANY_SIZE => NoAnswer],
        also [FORGET_UPPER];
    upper_copy_is_refilled_by_a_read:
        writes::refill,
        [
            NO_REFRESH => NotServed,
            LEAF_ANSWERS => NotServed,
            LEAF_METADATA => NotServed
        ],
        also [FORGET_UPPER, ANSWERS_BY_KEY];
    upper_copy_admitted_during_a_write_has_its_value:
        writes::admission_during_a_write, [OVERTAKE => NotAdmitted],
        also [FORGET_UPPER];

    eviction_of_a_former_upper_copy_keeps_the_next_record:
        lost::late_eviction, [EVICT_ANY => StaleRead],
        also [FORGET_UPPER, INVALIDATE_KEEPS, SAME_GENERATION];
    write_is_answered_though_the_upper_switch_is_lost:
        lost::lost_upper_switch, [KEEP_LOST => NoAnswer],
        also [NO_REFRESH];
    write_is_answered_though_upper_switch_and_controller_are_lost:
        lost::upper_switch_lost_with_the_controller, [WAIT_FOR_EVER => NoAnswer],
        also [NO_REFRESH, INVALIDATE_ONCE];
    next_write_is_answered_though_upper_switch_and_controller_are_lost:
        lost::upper_switch_lost_within_a_write, [WAIT_FOR_EVER => NoAnswer],
        also [NO_REFRESH, UPDATE_ONCE, ANSWERS_BY_KEY];
    upper_switch_thought_lost_answers_no_old_value:
        lost::unreachable_upper_switch, [EVICT_EARLY => StaleRead],
        also [FORGET_UPPER, KEEP_LOST];
    restarted_upper_switch_takes_no_update_from_before:
        lost::upper_switch_restarts_within_a_write, [SAME_GENERATION => StaleRead],
        also [FORGET_UPPER, INVALIDATE_KEEPS, ANSWERS_BY_KEY];

    restarted_server_invalidates_copies_that_it_forgot:
        restarts::server_forgets_upper_copies, [NO_LEARNING => StaleRead],
        also [ANSWERS_BY_KEY];
    learning_ends_when_every_copy_is_installed_again:
        restarts::answer_before_installs, [ANSWER_RESTARTED_EARLY => StaleRead],
        also [NO_LEARNING, ANSWERS_BY_KEY];
    late_answer_of_a_failed_server_does_not_end_learning:
        restarts::late_answer_to_an_install, [ANY_INSTALL_ANSWER => StaleRead],
        also [NO_LEARNING, ANSWER_RESTARTED_EARLY, OLD_NUMBERS, ANSWERS_BY_KEY];
    lost_report_of_a_start_is_sent_again:
        restarts::lost_restarted, [RESTARTED_ONCE => NoAnswer];
    answer_to_a_former_start_does_not_end_learning:
        restarts::answer_to_a_former_start, [OLD_NUMBERS => StaleRead],
        also [NO_LEARNING, ANSWERS_BY_KEY];
}

#[test]
fn without_a_protection_exactly_the_layer_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, &[]);
}

#[test]
fn every_protection_of_the_upper_layer_has_a_trap() {
    traps::every_one_has_a_trap(TRAPS, &[mutation::UPPER_LAYER]);
}

#[test]
fn documentation_has_every_layer_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}

#[test]
fn edits_apply_to_the_shipped_programs() {
    switches::PROGRAMS.iter().for_each(|name| program::assert_edits_are_of_what_ships(name));
}
