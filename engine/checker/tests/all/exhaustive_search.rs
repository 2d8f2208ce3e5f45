//! Compares the checker with an exhaustive search of all orders, on small random histories.

use crate::common::generator::{LoadShape, history};
use crate::common::{Action, Op, assert_same_with_small_limits, exhaustive, id, replay};
use netkv_checker::{Checker, Condition, Observed, Verdict, WriteId, WriteKind};
use netkv_workload::Random;

/// Operations with random times. A read returns any value whose write was invoked before the
/// response of the read.
fn random_history(random: &mut Random, exists: bool, deletes: f64) -> Vec<Op> {
    let count = 2 + random.below(9);
    let spread = 4 + random.below(4 * count);
    let mut ops: Vec<Op> = (0..count)
        .map(|at| {
            let begin = random.below(spread);
            let end = begin + 1 + random.below(spread / 2 + 1);
            let write = random.unit() < 0.5;
            let kind = match random.unit() < deletes {
                true => WriteKind::Delete,
                false => WriteKind::Put,
            };
            let action = if write { Action::Write(kind) } else { Action::Read(Observed::NotFound) };
            let end = (random.unit() < 0.85).then_some((end * 2 + 1) * 64 + at);
            Op { id: id(at as u32 + 1), action, begin: begin * 2 * 64 + at, end }
        })
        .collect();
    for at in 0..ops.len() {
        if ops[at].action == Action::Read(Observed::NotFound) {
            let end = ops[at].end.unwrap_or(0);
            let mut seen: Vec<Observed> = ops
                .iter()
                .filter(|it| it.action == Action::Write(WriteKind::Put) && it.begin < end)
                .map(|it| Observed::Value(it.id))
                .collect();
            if deletes > 0.0 || !exists {
                seen.push(Observed::NotFound);
            }
            if exists {
                seen.push(Observed::Value(WriteId::INITIAL));
            }
            if !seen.is_empty() {
                ops[at].action = Action::Read(seen[random.below(seen.len() as u64) as usize]);
            }
        }
    }
    ops.sort_unstable_by_key(|op| op.begin);
    ops
}

/// The part of a history up to `now`.
fn prefix(ops: &[Op], now: u64) -> Vec<Op> {
    let invoked = ops.iter().filter(|op| op.begin <= now);
    invoked.map(|op| Op { end: op.end.filter(|end| *end <= now), ..*op }).collect()
}

/// The verdict on a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HistoryVerdict {
    Linearizable,
    Violation,
    Unchecked,
}

/// Compares the verdicts up to the first violation, and checks its report.
fn compare(exists: bool, ops: &[Op], what: &str) -> HistoryVerdict {
    let mut checker = Checker::new();
    let (mut wrong, mut unchecked, mut verdicts) = (None, false, Vec::new());
    replay(&mut checker, exists, ops, |op, verdict| {
        verdicts.push(verdict);
        unchecked |= verdict == Verdict::Unchecked;
        if wrong.is_some() || unchecked {
            return;
        }
        let now = op.end.unwrap();
        let expected = exhaustive::linearizable(exists, &prefix(ops, now));
        assert_eq!(verdict == Verdict::Fresh, expected, "{what}: {op:?} in {ops:?}");
        wrong = (!expected).then_some(op.id);
    });
    assert_same_with_small_limits(Condition::Linearizable, exists, ops, &verdicts);
    if unchecked && wrong.is_none() {
        return HistoryVerdict::Unchecked;
    }
    let violations = checker.violations();
    assert_eq!(violations.is_empty(), wrong.is_none());
    if let Some(violation) = violations.first() {
        let reported = |op: &&Op| violation.operations.iter().any(|it| it.request == op.id.request);
        let mut kept: Vec<Op> = ops.iter().filter(reported).copied().collect();
        // The report was made at the response of the read.
        let now = ops.iter().find(|op| Some(op.id) == wrong).and_then(|op| op.end).unwrap();
        kept = prefix(&kept, now);
        assert!(
            !exhaustive::linearizable(exists, &kept),
            "{what}: these are linearizable: {kept:?}, reported {violation:?}, of {ops:?}"
        );
    }
    if wrong.is_some() { HistoryVerdict::Violation } else { HistoryVerdict::Linearizable }
}

#[test]
fn verdicts_equal_those_of_an_exhaustive_search() {
    let mut random = Random::new(1, 2);
    let (mut wrong, mut unchecked_histories) = (0, 0);
    let histories = 150_000;
    for number in 0..histories {
        let exists = random.unit() < 0.6;
        let deletes = [0.0, 0.3, 0.7][number % 3];
        let ops = random_history(&mut random, exists, deletes);
        let verdict = compare(exists, &ops, &format!("history {number}"));
        wrong += usize::from(verdict == HistoryVerdict::Violation);
        unchecked_histories += usize::from(verdict == HistoryVerdict::Unchecked);
    }
    assert!(unchecked_histories < histories / 10_000, "{unchecked_histories} could not be judged");
    assert!((histories / 10..histories * 9 / 10).contains(&wrong), "{wrong} are wrong");
}

#[test]
fn swapped_results_of_two_reads_are_judged_correctly() {
    let mut random = Random::new(3, 4);
    let (mut wrong, mut unchecked_histories) = (0, 0);
    for seed in 0..50_000 {
        let usage = LoadShape {
            ops: 10,
            clients: 2 + seed % 4,
            writes: 0.5,
            deletes: [0.0, 0.4, 0.8][seed as usize % 3],
            lost: 0.15,
            late: 0.5,
            max_delay: 20,
            max_pause: 10,
        };
        let exists = seed % 2 == 0;
        let mut ops = history(exists, usage, seed);
        // In half of the histories two reads exchange their results.
        let mut reads: Vec<usize> = (0..ops.len())
            .filter(|at| matches!(ops[*at].action, Action::Read(_)) && ops[*at].end.is_some())
            .collect();
        if seed % 4 < 2 && reads.len() >= 2 {
            let a = reads.swap_remove(random.below(reads.len() as u64) as usize);
            let b = reads.swap_remove(random.below(reads.len() as u64) as usize);
            let (x, y) = (ops[a].action, ops[b].action);
            (ops[a].action, ops[b].action) = (y, x);
        }
        let known = ops.iter().all(|op| match op.action {
            Action::Read(Observed::Value(id)) if id != WriteId::INITIAL => {
                ops.iter().any(|it| it.id == id && op.end.is_none_or(|end| it.begin < end))
            }
            _ => true,
        });
        if known {
            let verdict = compare(exists, &ops, &format!("seed {seed}"));
            wrong += usize::from(verdict == HistoryVerdict::Violation);
            unchecked_histories += usize::from(verdict == HistoryVerdict::Unchecked);
        }
    }
    assert!(unchecked_histories < 5, "{unchecked_histories} could not be judged");
    assert!((500..50_000).contains(&wrong), "{wrong} are wrong");
}
