//! An offline reference checker for histories without deletes: the zones of a complete history.

use std::collections::HashMap;

use netkv_checker::{Observed, WriteId, WriteKind};

use super::{Action, Op};

/// Whether the history is linearizable, in O(n log n) after Gibbons and Korach.
///
/// # Panics
///
/// If it has deletes.
pub fn linearizable(ops: &[Op]) -> bool {
    // (first response, last invocation, invocation of the write)
    let mut zones: HashMap<WriteId, (u64, u64, u64)> = HashMap::new();
    zones.insert(WriteId::INITIAL, (0, 0, 0));
    for op in ops {
        match op.action {
            Action::Write(WriteKind::Put) => {
                zones.insert(op.id, (op.end.unwrap_or(u64::MAX), op.begin, op.begin));
            }
            Action::Write(WriteKind::Delete) => panic!("deletes have no values of their own"),
            Action::Read(_) => {}
        }
    }
    for op in ops {
        let (Action::Read(Observed::Value(id)), Some(end)) = (op.action, op.end) else { continue };
        let Some(zone) = zones.get_mut(&id) else { return false };
        if end < zone.2 {
            return false;
        }
        *zone = (zone.0.min(end), zone.1.max(op.begin), zone.2);
    }
    let zones = zones.into_values().filter(|zone| zone.0 != u64::MAX);
    let (mut forward, backward): (Vec<_>, Vec<_>) =
        zones.map(|(end, start, _)| (end, start)).partition(|(end, start)| end < start);
    forward.sort_unstable();
    let disjoint = forward.windows(2).all(|pair| pair[0].1 < pair[1].0);
    let inside = |(end, start): (u64, u64)| {
        let at = forward.partition_point(|zone| zone.0 < start);
        at > 0 && end < forward[at - 1].1
    };
    disjoint && !backward.into_iter().any(inside)
}
