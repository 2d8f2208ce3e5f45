//! A reference checker: it tries every order of the operations.

use std::collections::HashSet;

use netkv_checker::{Observed, WriteId, WriteKind};

use super::{Action, Op};

/// Whether the history is linearizable: some total order extends the partial order of the intervals
/// and explains every read. A pending write may be left out; pending reads are ignored.
pub fn linearizable(exists: bool, ops: &[Op]) -> bool {
    let ops: Vec<Op> = ops
        .iter()
        .copied()
        .filter(|op| op.end.is_some() || matches!(op.action, Action::Write(_)))
        .collect();
    assert!(ops.len() <= 32);
    let initial = exists.then_some(WriteId::INITIAL);
    search(&ops, 0, initial, &mut HashSet::new())
}

fn search(
    ops: &[Op],
    done: u32,
    value: Option<WriteId>,
    tried: &mut HashSet<(u32, Option<WriteId>)>,
) -> bool {
    let remaining = |at: usize| done & 1 << at == 0;
    let first_end = (0..ops.len()).filter(|at| remaining(*at)).filter_map(|at| ops[at].end).min();
    let Some(first_end) = first_end else { return true };
    if !tried.insert((done, value)) {
        return false;
    }
    (0..ops.len()).filter(|at| remaining(*at) && ops[*at].begin < first_end).any(|at| {
        let after = match ops[at].action {
            Action::Write(WriteKind::Put) => Some(ops[at].id),
            Action::Write(WriteKind::Delete) => None,
            Action::Read(Observed::Value(id)) if value == Some(id) => value,
            Action::Read(Observed::NotFound) if value.is_none() => value,
            Action::Read(_) => return false,
        };
        search(ops, done | 1 << at, after, tried)
    })
}
