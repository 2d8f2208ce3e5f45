//! The checker against a search of all orders, on small random histories.

mod common;

use common::real::{Usage, history};
use common::{Do, Op, brute, forgets_nothing_that_matters, id, play};
use netkv_checker::{Checker, Observed, Verdict, WriteId, WriteKind};
use netkv_workload::Random;

/// Operations with random times; reads return anything that was begun before they ended.
fn wild(random: &mut Random, exists: bool, deletes: f64) -> Vec<Op> {
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
            let act = if write { Do::Write(kind) } else { Do::Read(Observed::NotFound) };
            let end = (random.unit() < 0.85).then_some((end * 2 + 1) * 64 + at);
            Op { id: id(at as u32 + 1), act, begin: begin * 2 * 64 + at, end }
        })
        .collect();
    for at in 0..ops.len() {
        if ops[at].act == Do::Read(Observed::NotFound) {
            let end = ops[at].end.unwrap_or(0);
            let mut seen: Vec<Observed> = ops
                .iter()
                .filter(|it| it.act == Do::Write(WriteKind::Put) && it.begin < end)
                .map(|it| Observed::Value(it.id))
                .collect();
            if deletes > 0.0 || !exists {
                seen.push(Observed::NotFound);
            }
            if exists {
                seen.push(Observed::Value(WriteId::INITIAL));
            }
            if !seen.is_empty() {
                ops[at].act = Do::Read(seen[random.below(seen.len() as u64) as usize]);
            }
        }
    }
    ops.sort_unstable_by_key(|op| op.begin);
    ops
}

/// What is known at `now`.
fn before(ops: &[Op], now: u64) -> Vec<Op> {
    let begun = ops.iter().filter(|op| op.begin <= now);
    begun.map(|op| Op { end: op.end.filter(|end| *end <= now), ..*op }).collect()
}

/// How a history was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Right,
    Wrong,
    NotAll,
}

/// Compares verdicts up to the first violation, and looks at what is told of it.
fn compare(exists: bool, ops: &[Op], what: &str) -> Judged {
    let mut checker = Checker::new();
    let (mut wrong, mut unchecked, mut heard) = (None, false, Vec::new());
    play(&mut checker, exists, ops, |op, verdict| {
        heard.push(verdict);
        unchecked |= verdict == Verdict::Unchecked;
        if wrong.is_some() || unchecked {
            return;
        }
        let now = op.end.unwrap();
        let expected = brute::linearizable(exists, &before(ops, now));
        assert_eq!(verdict == Verdict::Fresh, expected, "{what}: {op:?} in {ops:?}");
        wrong = (!expected).then_some(op.id);
    });
    forgets_nothing_that_matters(exists, ops, &heard);
    if unchecked && wrong.is_none() {
        return Judged::NotAll;
    }
    let violations = checker.violations();
    assert_eq!(violations.is_empty(), wrong.is_none());
    if let Some(violation) = violations.first() {
        let told = |op: &&Op| violation.operations.iter().any(|it| it.request == op.id.request);
        let mut kept: Vec<Op> = ops.iter().filter(told).copied().collect();
        // What came after the read is not known to whoever reports it.
        let now = ops.iter().find(|op| Some(op.id) == wrong).and_then(|op| op.end).unwrap();
        kept = before(&kept, now);
        assert!(
            !brute::linearizable(exists, &kept),
            "{what}: these are in order: {kept:?}, told {violation:?}, of {ops:?}"
        );
    }
    if wrong.is_some() { Judged::Wrong } else { Judged::Right }
}

#[test]
fn verdicts_are_those_of_a_search_of_all_orders() {
    let mut random = Random::new(1, 2);
    let (mut wrong, mut not_all) = (0, 0);
    let histories = 150_000;
    for number in 0..histories {
        let exists = random.unit() < 0.6;
        let deletes = [0.0, 0.3, 0.7][number % 3];
        let ops = wild(&mut random, exists, deletes);
        let judged = compare(exists, &ops, &format!("history {number}"));
        wrong += usize::from(judged == Judged::Wrong);
        not_all += usize::from(judged == Judged::NotAll);
    }
    assert!(not_all < histories / 10_000, "{not_all} could not be judged");
    assert!((histories / 10..histories * 9 / 10).contains(&wrong), "{wrong} are wrong");
}

#[test]
fn almost_right_histories_are_told_from_right_ones() {
    let mut random = Random::new(3, 4);
    let (mut wrong, mut not_all) = (0, 0);
    for seed in 0..50_000 {
        let usage = Usage {
            ops: 10,
            clients: 2 + seed % 4,
            writes: 0.5,
            deletes: [0.0, 0.4, 0.8][seed as usize % 3],
            lost: 0.15,
            late: 0.5,
            longest: 20,
            pause: 10,
        };
        let exists = seed % 2 == 0;
        let mut ops = history(exists, usage, seed);
        // Two reads change their results, half of the time.
        let mut reads: Vec<usize> = (0..ops.len())
            .filter(|at| matches!(ops[*at].act, Do::Read(_)) && ops[*at].end.is_some())
            .collect();
        if seed % 4 < 2 && reads.len() >= 2 {
            let a = reads.swap_remove(random.below(reads.len() as u64) as usize);
            let b = reads.swap_remove(random.below(reads.len() as u64) as usize);
            let (x, y) = (ops[a].act, ops[b].act);
            (ops[a].act, ops[b].act) = (y, x);
        }
        let known = ops.iter().all(|op| match op.act {
            Do::Read(Observed::Value(id)) if id != WriteId::INITIAL => {
                ops.iter().any(|it| it.id == id && op.end.is_none_or(|end| it.begin < end))
            }
            _ => true,
        });
        if known {
            let judged = compare(exists, &ops, &format!("seed {seed}"));
            wrong += usize::from(judged == Judged::Wrong);
            not_all += usize::from(judged == Judged::NotAll);
        }
    }
    assert!(not_all < 5, "{not_all} could not be judged");
    assert!((500..50_000).contains(&wrong), "{wrong} are wrong");
}
