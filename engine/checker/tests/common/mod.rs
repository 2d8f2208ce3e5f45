//! Histories of one key for the tests, and the oracle.
#![allow(dead_code)] // Each test program uses a part.

pub mod brute;
pub mod real;
pub mod whole;

use netkv_checker::{Answer, Checker, Observed, ReadTicket, Verdict, WriteId, WriteKind};
use netkv_wire::Key;

pub const KEY: Key = [7; 16];

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Do {
    Write(WriteKind),
    Read(Observed),
}

/// An operation between two events; `end` is none without answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    pub id: WriteId,
    pub act: Do,
    pub begin: u64,
    pub end: Option<u64>,
}

pub fn id(request: u32) -> WriteId {
    WriteId { client: 1, request }
}

/// Beginnings and ends in order: (time, operation, whether it begins).
pub fn events(ops: &[Op]) -> Vec<(u64, usize, bool)> {
    let begins = ops.iter().enumerate().map(|(at, op)| (op.begin, at, true));
    let ends = ops.iter().enumerate().filter_map(|(at, op)| Some((op.end?, at, false)));
    let mut events: Vec<_> = begins.chain(ends).collect();
    events.sort_unstable();
    events
}

/// Plays operations to checkers that keep as little as they can of keys that are not in use: their
/// verdicts must be `heard`, those of one that keeps more. What is still told where a limit was
/// reached, so that a read could not be judged, is not compared.
pub fn forgets_nothing_that_matters(exists: bool, ops: &[Op], heard: &[Verdict]) {
    for (awake, resting) in [(0, 0), (0, 1)] {
        let mut checker = Checker::with_room(awake, resting);
        let (mut at, mut compared) = (0, true);
        play(&mut checker, exists, ops, |op, verdict| {
            compared &= verdict != Verdict::Unchecked && heard[at] != Verdict::Unchecked;
            assert!(!compared || verdict == heard[at], "{op:?}: {verdict:?}, {:?}", heard[at]);
            at += 1;
        });
    }
}

/// Plays operations to a checker; hears of every verdict on a read.
pub fn play(checker: &mut Checker, exists: bool, ops: &[Op], mut heard: impl FnMut(&Op, Verdict)) {
    let gives_up = |op: &Op| ops.len() > 20 || op.id.request.is_multiple_of(2);
    let mut tickets: Vec<Option<ReadTicket>> = vec![None; ops.len()];
    for (now, at, begins) in events(ops) {
        let op = &ops[at];
        match (op.act, begins) {
            (Do::Write(kind), true) => {
                checker.begin_write(now, &KEY, op.id, kind, exists);
                // In short histories some are never given up: that makes no difference.
                if op.end.is_none() && gives_up(op) {
                    checker.give_up_write(&KEY, op.id);
                }
            }
            (Do::Write(_), false) => checker.end_write(now, &KEY, op.id),
            (Do::Read(_), true) => {
                let ticket = checker.begin_read(now, &KEY);
                if op.end.is_none() && gives_up(op) {
                    checker.give_up_read(&KEY, ticket);
                }
                tickets[at] = Some(ticket);
            }
            (Do::Read(observed), false) => {
                let issued = match observed {
                    Observed::Value(id) => ops.iter().any(|it| it.id == id && it.begin < now),
                    _ => true,
                };
                let answer = Answer { reader: op.id, observed, exists, issued, last: false };
                let verdict = checker.end_read(now, &KEY, tickets[at].unwrap(), answer);
                heard(op, verdict);
            }
        }
    }
}
