//! The traps of FarReach (`docs/testing.md`), over the program that ships: `p4/farreach`, compiled
//! and executed by netkv, with real clients and a real server, each frame handed over by hand.
//!
//! Every trap is a test. It plays its script as it is, where no user may suffer, and once for each
//! of its protections without that protection, where users must. A last test plays every script
//! without every protection and demands that exactly the traps in the table fail.

mod admission;
mod control;
mod eviction;
mod incarnations;
mod judge;
mod mutants;
mod rack;
mod snapshots;
mod switch;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use netkv_compiled::ExecutorKind;
use netkv_ir::Program;

use crate::common::program;
use judge::Harm;
use mutants::*;
use rack::Rack;
use switch::Switch;

const NAME: &str = "farreach";
/// What happens about several ingress pipelines is played with two; all of it can be.
const PIPELINES: [usize; 2] = [2, 1];

/// A trap: what happens, and the mutants that fall into it.
struct Trap {
    name: &'static str,
    script: fn(&mut Rack),
    /// Most pipelines first; 1 only where the script needs no second one.
    pipelines: &'static [usize],
    /// Without one of its own protections, and what users suffer from then.
    mutants: &'static [(Mutant, Harm)],
    /// Without these it fails too: they protect what its script takes for granted.
    also: &'static [Mutant],
}

struct Outcome {
    harm: BTreeSet<Harm>,
    missing: Vec<String>,
}

/// Plays a script. It plays to its end also without what it waits for.
fn play(script: fn(&mut Rack), switch: Switch, fault: Option<Fault>) -> Outcome {
    let mut rack = match fault {
        Some(Fault::Role(mutation)) => Rack::new(switch, Some(mutation), None),
        Some(Fault::Script(slip)) => Rack::new(switch, None, Some(slip)),
        Some(Fault::Program(_)) | None => Rack::new(switch, None, None),
    };
    script(&mut rack);
    rack.finish();
    Outcome { harm: rack.harm, missing: rack.missing }
}

fn shipped() -> Arc<Program> {
    static SHIPPED: OnceLock<Arc<Program>> = OnceLock::new();
    let compile = || Arc::new(program::compile_as(NAME, &program::flat_of(NAME)).program);
    Arc::clone(SHIPPED.get_or_init(compile))
}

fn program_of(fault: Fault) -> Arc<Program> {
    let Fault::Program(edit) = fault else { return shipped() };
    let text = program::apply(&program::flat_of(NAME), &edit);
    let text = text.unwrap_or_else(|why| panic!("{why}"));
    Arc::new(program::compile_as(NAME, &text).program)
}

impl Trap {
    /// Whether this trap fails where `mutant` is.
    fn may_fail(&self, mutant: &Mutant) -> bool {
        self.mutants.iter().any(|(own, _)| own == mutant) || self.also.contains(mutant)
    }

    fn without(&self, mutant: &Mutant, program: &Arc<Program>) -> BTreeSet<Harm> {
        let switch = Switch::new(Arc::clone(program), ExecutorKind::Interpreter, self.pipelines[0]);
        play(self.script, switch, Some(mutant.fault)).harm
    }

    fn check(&self) {
        for executor in [ExecutorKind::Interpreter, ExecutorKind::Compiled] {
            for pipelines in self.pipelines {
                let switch = Switch::new(shipped(), executor, *pipelines);
                let Outcome { harm, missing } = play(self.script, switch, None);
                assert!(missing.is_empty(), "the script is out of date, no {missing:?}");
                let rack = format!("{executor:?}, {pipelines} pipelines");
                assert!(harm.is_empty(), "with all protections, {rack}: {harm:?}");
            }
        }
        for (mutant, harm) in self.mutants {
            let found = self.without(mutant, &program_of(mutant.fault));
            assert!(found.contains(harm), "{}: expected {harm:?}, found {found:?}", mutant.name);
        }
    }
}

macro_rules! traps {
    ($($name:ident: $script:path, $pipelines:expr,
        [$($mutant:ident => $harm:ident),+ $(,)?] $(, also [$($also:ident),+ $(,)?])?;)+) => {
        const TRAPS: &[Trap] = &[$(Trap {
            name: stringify!($name),
            script: $script,
            pipelines: $pipelines,
            mutants: &[$(($mutant, Harm::$harm)),+],
            also: &[$($($also),+)?],
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

const ANY: &[usize] = &PIPELINES;
const TWO: &[usize] = &[2];

traps! {
    read_reply_from_before_a_write_does_not_refresh_the_entry:
        admission::read_in_flight, ANY, [OLD_REPLIES => StaleRead];
    record_that_was_overwritten_before_its_admission_is_not_served:
        admission::filled_with_an_old_record, ANY, [FILLED_IS_LATEST => StaleRead];
    write_that_passed_before_its_key_was_cached_outdates_the_entry:
        admission::write_before_the_entry, ANY,
        [NEWER_KEEPS => StaleRead, REPLIES_PASS_BY => StaleRead];
    read_reply_behind_that_of_a_later_write_does_not_refresh_the_entry:
        admission::replies_that_change_places, ANY,
        [OLD_REPLIES => StaleRead, FLOOR_STAYS => StaleRead],
        also [REPLIES_PASS_BY];
    copy_of_an_admission_does_not_undo_a_write:
        admission::late_copy_of_fill, ANY, [FILL_AGAIN => StaleRead];
    copy_of_a_validity_change_does_nothing_to_the_next_key_of_the_place:
        admission::late_copy_of_validate, TWO,
        [ANY_CONTROL => StaleRead],
        also [FILLED_IS_LATEST, FILL_VALIDATES];
    read_reply_of_a_former_filling_does_not_refresh_the_next:
        admission::straggler_of_a_former_filling, ANY, [ANY_GENERATION => StaleRead],
        also [FILLED_IS_LATEST];
    entry_that_one_pipeline_does_not_know_yet_takes_no_write:
        admission::pipeline_that_does_not_know_yet, TWO,
        [VALIDATE_EARLY => StaleRead, FILL_VALIDATES => StaleRead],
        also [FILLED_IS_LATEST];
    value_above_the_limit_is_read_whole_from_its_server:
        admission::value_above_the_limit, ANY,
        [NEWER_KEEPS => StaleRead, ANSWER_EMBEDDED => StaleRead],
        also [EVICTED_KEEPS, RESTORE_ANYTHING];
    delete_that_was_done_late_is_not_undone_by_what_the_entry_held:
        admission::delete_that_was_done_late, ANY, [DONE_STAYS_DIRTY => StaleRead],
        also [REFRESH_AFTER_POINT];

    acknowledged_write_is_read_though_a_later_one_was_lost_during_its_eviction:
        eviction::write_lost_behind_the_switch, ANY,
        [EMBED_NOTHING => StaleRead, IGNORE_EMBEDDED => StaleRead],
        also [NEWER_KEEPS, ANSWER_EMBEDDED, EVICTED_KEEPS, RESTORE_ANYTHING, REQUEST_ONCE];
    write_during_an_eviction_is_read_before_the_entry_is_gone:
        eviction::write_during_an_eviction, ANY,
        [EVICTED_KEEPS => StaleRead, ANSWER_EMBEDDED => StaleRead],
        also [NEWER_KEEPS, RESTORE_ANYTHING];
    acknowledged_delete_is_not_undone_by_an_older_eviction:
        eviction::delete_before_the_eviction_comes, ANY,
        [RESTORE_ANYTHING => StaleRead, NO_TOMBSTONES => StaleRead];
    copy_of_an_eviction_does_not_undo_a_write:
        eviction::late_copy_of_restore, ANY, [RESTORE_ANYTHING => StaleRead];
    acknowledged_write_survives_the_eviction_of_its_entry:
        eviction::dirty_record, ANY, [RESTORE_NOTHING => StaleRead];
    entry_that_one_pipeline_has_forgotten_answers_no_read:
        eviction::pipeline_that_has_forgotten, TWO,
        [RETIRE_LATE => StaleRead, RETIRED_SERVES => StaleRead];

    write_from_before_its_key_was_cached_does_not_undo_an_eviction:
        eviction::write_from_before_the_entry, ANY, [UNGUARDED => StaleRead],
        also [RESTORE_NOTHING];

    copy_of_an_applied_write_undoes_nothing_when_its_entry_is_gone:
        eviction::copy_of_a_write_whose_entry_is_gone, ANY, [FORGET_WITH_ENTRY => StaleRead],
        also [APPLY_COPIES, REQUEST_ONCE];
    copy_of_an_applied_write_does_not_undo_another_clients_write:
        eviction::late_copy_of_a_write, ANY, [APPLY_COPIES => StaleRead];
    copy_of_a_forwarded_write_is_not_applied_when_its_key_is_cached:
        eviction::copy_of_a_write_that_was_forwarded, ANY,
        [APPLY_FORWARDED => StaleRead, REPEAT_WRITES => StaleRead],
        also [APPLY_COPIES, REQUEST_ONCE];
    write_whose_answer_by_the_switch_was_lost_is_answered_again:
        eviction::lost_answer, ANY, [REQUEST_ONCE => NoAnswer];

    put_that_comes_by_another_pipeline_after_the_point_is_not_in_the_snapshot:
        snapshots::put_across_the_point, TWO,
        [NO_REDIRECTION => TornSnapshot, STAY_IN_PIPELINE => TornSnapshot],
        also [REPORT_AGAIN];
    delete_that_comes_by_another_pipeline_after_the_point_is_not_in_the_snapshot:
        snapshots::delete_across_the_point, TWO,
        [NO_REDIRECTION => TornSnapshot, STAY_IN_PIPELINE => TornSnapshot],
        also [REPORT_AGAIN];
    read_reply_after_the_point_is_not_in_the_snapshot:
        snapshots::read_reply_across_the_point, ANY, [REFRESH_AFTER_POINT => TornSnapshot];
    second_write_after_the_point_is_not_taken_for_the_original:
        snapshots::two_writes_after_the_point, ANY, [REPORT_AGAIN => TornSnapshot];
    every_snapshot_has_the_original_of_its_own_point:
        snapshots::a_write_in_each_of_two_snapshots, ANY, [REPORT_AGAIN => TornSnapshot];
    newest_record_of_two_clients_and_the_snapshot_is_recovered:
        snapshots::newest_of_clients_and_snapshot, ANY,
        [SNAPSHOT_WINS => StaleRead, ASK_ONE => StaleRead];
    preserved_delete_is_recovered_as_a_delete:
        snapshots::preserved_delete, ANY, [KEEP_NO_DELETES => StaleRead],
        also [SNAPSHOT_WINS];

    evicted_record_at_the_wrap_of_numbers_is_stored:
        incarnations::eviction_at_the_wrap, ANY, [PLAIN_SEQUENCES => StaleRead],
        also [RESTORE_NOTHING];
    write_at_the_wrap_of_numbers_outdates_the_entry:
        incarnations::reply_at_the_wrap, ANY, [PLAIN_NUMBERS => StaleRead],
        also [NEWER_KEEPS, REPLIES_PASS_BY, PLAIN_SEQUENCES];
    write_at_the_wrap_of_lives_is_stored:
        incarnations::lives_at_the_wrap, ANY, [PLAIN_SEQUENCES => StaleRead];
    record_of_a_former_life_is_older_than_every_write_of_this_one:
        incarnations::record_of_a_former_life, ANY, [ANY_LIFE => StaleRead],
        also [NEWER_KEEPS, REPLIES_PASS_BY];
    write_that_a_dead_switch_may_have_done_is_not_done_again:
        incarnations::write_of_a_past_life, ANY,
        [DO_PAST => StaleRead, PAST_UNTOLD => StaleRead, STAMP_ANEW => StaleRead],
        also [REQUEST_ONCE];
    write_of_a_past_life_is_not_applied_by_the_switch:
        incarnations::write_of_a_past_life_to_a_cached_key, ANY, [APPLY_PAST => StaleRead],
        also [DO_PAST, PAST_UNTOLD];
    answer_of_a_dead_switch_acknowledges_no_write:
        incarnations::answer_of_the_dead, ANY, [TAKE_PAST => StaleRead],
        also [REQUEST_ONCE];
    value_that_was_seen_survives_the_switch:
        incarnations::value_that_was_seen, ANY, [KEEP_NO_READS => StaleRead],
        also [REQUEST_ONCE, ASK_ONE];
    value_that_was_seen_by_way_of_its_server_survives_the_switch:
        incarnations::value_that_was_seen_by_the_server, ANY, [KEEP_NO_EMBEDDED => StaleRead],
        also [REQUEST_ONCE, ASK_ONE, KEEP_NO_READS];
}

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    let mut mutants: Vec<Mutant> = Vec::new();
    for mutant in TRAPS.iter().flat_map(|trap| trap.mutants.iter().map(|(mutant, _)| *mutant)) {
        if !mutants.contains(&mutant) {
            mutants.push(mutant);
        }
    }
    let mut wrong = String::new();
    for mutant in &mutants {
        let program = program_of(mutant.fault);
        for trap in TRAPS {
            let harm = trap.without(mutant, &program);
            if trap.may_fail(mutant) == harm.is_empty() {
                wrong += &format!("{}: {}: {harm:?}\n", mutant.name, trap.name);
            }
        }
    }
    assert!(wrong.is_empty(), "other than the table says:\n{wrong}");
}

#[test]
fn what_is_edited_is_the_program_that_ships() {
    let file = program::main_file_of(NAME);
    let file = netkv_p4::compile_file(&file, &program::options()).unwrap();
    let flat = program::compile_as(NAME, &program::flat_of(NAME));
    assert_eq!(flat.source_hash, file.source_hash);
}

#[test]
fn the_documentation_has_every_trap_with_its_mutants() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let text = std::fs::read_to_string(file).unwrap();
    for trap in TRAPS {
        let rows = text.lines().filter(|line| line.starts_with(&format!("| `{}` |", trap.name)));
        let has_all = |row: &str| trap.mutants.iter().all(|(it, _)| row.contains(it.name));
        assert!(rows.into_iter().any(has_all), "docs/testing.md: no row for {}", trap.name);
    }
}
