//! Conditions that hold whenever a graph reaches a block, and that are known when the graph starts.

use netkv_ir::{BlockId, Cfg, Expr, Program, Terminator};

use crate::block_order::topological_order;
use crate::words::{Words, accessed_by, visit_all};

/// A condition of a branch, and whether it holds.
pub(crate) type Condition<'a> = (&'a Expr, bool);

/// The conditions of the branches that every path to `target` takes to the same side, if they read
/// only words that no operation before them writes. `before` are words that are written before the
/// graph. Empty if the graph has a cycle.
pub(crate) fn conditions_of<'a>(
    program: &Program,
    cfg: &'a Cfg,
    target: BlockId,
    before: &Words,
) -> Vec<Condition<'a>> {
    let Some(order) = topological_order(cfg) else { return Vec::new() };
    let mut written = before.clone();
    let mut conditions = Vec::new();
    // All blocks before a block on any path precede it in the order.
    for id in order.into_iter().take_while(|id| *id != target) {
        let block = &cfg.blocks[id as usize];
        block.ops.iter().for_each(|op| written.union(&accessed_by(program, op)));
        if let Terminator::Branch { cond, then, otherwise } = &block.terminator
            && !reaches(cfg, 0, target, Some(id))
        {
            let sides = [*then, *otherwise].map(|side| reaches(cfg, side, target, None));
            if sides[0] != sides[1] && reads_none_of(cond, &written) {
                conditions.push((cond, sides[0]));
            }
        }
        if let Terminator::Apply(apply) = &block.terminator {
            written.apply_results(apply);
        }
    }
    conditions
}

/// Whether a path leads from a block to `target` that does not go through `without`.
fn reaches(cfg: &Cfg, from: BlockId, target: BlockId, without: Option<BlockId>) -> bool {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if Some(id) == without || std::mem::replace(&mut seen[id as usize], true) {
            continue;
        }
        if id == target {
            return true;
        }
        open.extend(cfg.blocks[id as usize].terminator.successors());
    }
    false
}

fn reads_none_of(cond: &Expr, written: &Words) -> bool {
    let mut none = true;
    visit_all(cond, &mut |expr| {
        none &= match expr {
            Expr::Load(place) => {
                (place.word..place.word + place.words()).all(|word| !written.contains(word))
            }
            Expr::LoadElement { .. } | Expr::PacketLength => false,
            _ => true,
        };
    });
    none
}
