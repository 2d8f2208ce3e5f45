//! Histories of one key for the tests, and two reference checkers.

pub mod exhaustive;
pub mod generator;
pub mod offline;

use netkv_checker::{
    Answer, Checker, Condition, Observed, ReadTicket, Verdict, WriteId, WriteKind,
};
use netkv_wire::Key;

pub const KEY: Key = [7; 16];

/// An operation with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Write(WriteKind),
    Read(Observed),
}

/// An operation between its invocation and its response; `end` is none if it is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    pub id: WriteId,
    pub action: Action,
    pub begin: u64,
    pub end: Option<u64>,
}

pub fn id(request: u32) -> WriteId {
    WriteId { client: 1, request }
}

/// All events in order: (time, operation, whether it is the invocation).
pub fn events(ops: &[Op]) -> Vec<(u64, usize, bool)> {
    let begins = ops.iter().enumerate().map(|(at, op)| (op.begin, at, true));
    let ends = ops.iter().enumerate().filter_map(|(at, op)| Some((op.end?, at, false)));
    let mut events: Vec<_> = begins.chain(ends).collect();
    events.sort_unstable();
    events
}

/// Asserts that checkers with the smallest limits of unused histories give the same `verdicts`.
/// Verdicts after the first unchecked read are not compared, since they depend on the limits.
pub fn assert_same_with_small_limits(
    condition: Condition,
    exists: bool,
    ops: &[Op],
    verdicts: &[Verdict],
) {
    for (active, idle) in [(0, 0), (0, 1)] {
        let mut checker = Checker::with_limits(active, idle).judging(condition);
        let (mut at, mut compared) = (0, true);
        replay(&mut checker, exists, ops, |op, verdict| {
            compared &= verdict != Verdict::Unchecked && verdicts[at] != Verdict::Unchecked;
            assert!(
                !compared || verdict == verdicts[at],
                "{op:?}: {verdict:?}, {:?}",
                verdicts[at]
            );
            at += 1;
        });
    }
}

/// Sends operations to a checker and calls `on_verdict` for every verdict on a read.
pub fn replay(
    checker: &mut Checker,
    exists: bool,
    ops: &[Op],
    mut on_verdict: impl FnMut(&Op, Verdict),
) {
    let gives_up = |op: &Op| ops.len() > 20 || op.id.request.is_multiple_of(2);
    let mut tickets: Vec<Option<ReadTicket>> = vec![None; ops.len()];
    for (now, at, begins) in events(ops) {
        let op = &ops[at];
        match (op.action, begins) {
            (Action::Write(kind), true) => {
                checker.begin_write(now, &KEY, op.id, kind, exists);
                // In short histories some are never given up; no verdict depends on it.
                if op.end.is_none() && gives_up(op) {
                    checker.give_up_write(&KEY, op.id);
                }
            }
            (Action::Write(_), false) => {
                checker.end_write(now, &KEY, op.id);
            }
            (Action::Read(_), true) => {
                let ticket = checker.begin_read(now, &KEY);
                if op.end.is_none() && gives_up(op) {
                    checker.give_up_read(&KEY, ticket);
                }
                tickets[at] = Some(ticket);
            }
            (Action::Read(observed), false) => {
                let issued = match observed {
                    Observed::Value(id) => ops.iter().any(|it| it.id == id && it.begin < now),
                    _ => true,
                };
                let answer = Answer { reader: op.id, observed, exists, issued, last: false };
                let verdict = checker.end_read(now, &KEY, tickets[at].unwrap(), answer);
                on_verdict(op, verdict);
            }
        }
    }
}
