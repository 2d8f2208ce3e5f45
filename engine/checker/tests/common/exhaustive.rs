//! The oracle: tries every order of the operations.

use std::collections::HashSet;

use netkv_checker::{Observed, WriteId, WriteKind};

use super::{Do, Op};

/// Whether some order of the operations, with every one between its beginning and its end, gives
/// every read what it returned. Writes without answer may be left out; reads without are.
pub fn linearizable(exists: bool, ops: &[Op]) -> bool {
    let ops: Vec<Op> = ops
        .iter()
        .copied()
        .filter(|op| op.end.is_some() || matches!(op.act, Do::Write(_)))
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
    let open = |at: usize| done & 1 << at == 0;
    let first_end = (0..ops.len()).filter(|at| open(*at)).filter_map(|at| ops[at].end).min();
    let Some(first_end) = first_end else { return true };
    if !tried.insert((done, value)) {
        return false;
    }
    (0..ops.len()).filter(|at| open(*at) && ops[*at].begin < first_end).any(|at| {
        let after = match ops[at].act {
            Do::Write(WriteKind::Put) => Some(ops[at].id),
            Do::Write(WriteKind::Delete) => None,
            Do::Read(Observed::Value(id)) if value == Some(id) => value,
            Do::Read(Observed::NotFound) if value.is_none() => value,
            Do::Read(_) => return false,
        };
        search(ops, done | 1 << at, after, tried)
    })
}
