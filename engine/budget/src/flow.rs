//! The order of a graph's blocks, and which branches decide whether a block runs.

use std::cmp::Reverse;

use netkv_ir::{BlockId, Cfg, Terminator};

/// A set of small numbers.
#[derive(Debug, Clone)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Whether it was not in it before.
    pub(crate) fn add(&mut self, at: usize) -> bool {
        let (word, bit) = (at / 64, 1 << (at % 64));
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

/// A graph without its operations. Controls have no loops; an edge that would close one is left
/// out, so that a graph from elsewhere is estimated too.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Blocks, each before those that it leads to.
    pub(crate) order: Vec<BlockId>,
    /// Where a block goes, without repetition.
    pub(crate) next: Vec<Vec<BlockId>>,
    /// Where a block is entered from.
    pub(crate) before: Vec<Vec<BlockId>>,
    /// The blocks whose terminator decides whether a block runs; only the innermost ones.
    pub(crate) deciders: Vec<Vec<BlockId>>,
}

impl Flow {
    pub(crate) fn new(cfg: &Cfg) -> Self {
        let mut next: Vec<Vec<BlockId>> =
            cfg.blocks.iter().map(|block| targets(&block.terminator)).collect();
        let order = sort(&mut next);
        let mut before = vec![Vec::new(); next.len()];
        for &block in &order {
            next[block as usize].iter().for_each(|to| before[*to as usize].push(block));
        }
        let deciders = deciders(&order, &next);
        Self { order, next, before, deciders }
    }

    /// The blocks that a packet can come to after this one.
    pub(crate) fn after(&self, block: BlockId) -> Bits {
        let mut found = Bits::new(self.next.len());
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            open.extend(self.next[block as usize].iter().filter(|to| found.add(**to as usize)));
        }
        found
    }
}

fn targets(terminator: &Terminator) -> Vec<BlockId> {
    let mut found = match terminator {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch { then, otherwise, .. } => vec![*then, *otherwise],
        Terminator::Select { cases, default, .. } => {
            cases.iter().map(|case| case.target).chain([*default]).collect()
        }
        Terminator::Apply(apply) => apply.targets.iter().map(|target| target.block).collect(),
        Terminator::Exit => Vec::new(),
    };
    // The last way first: in the order that is made from them, it then comes last.
    found.sort_unstable_by_key(|to| Reverse(*to));
    found.dedup();
    found
}

/// Depth first from block 0; drops the edges that lead back.
fn sort(next: &mut [Vec<BlockId>]) -> Vec<BlockId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Open,
        Done,
    }
    let mut seen = vec![Seen::Never; next.len()];
    let mut order = Vec::new();
    let mut path: Vec<(BlockId, usize)> = Vec::new();
    if !next.is_empty() {
        seen[0] = Seen::Open;
        path.push((0, 0));
    }
    while let Some((block, edge)) = path.last_mut() {
        let (from, at) = (*block as usize, *edge);
        let Some(to) = next[from].get(at).copied() else {
            seen[from] = Seen::Done;
            order.push(*block);
            path.pop();
            continue;
        };
        match seen[to as usize] {
            Seen::Open => drop(next[from].remove(at)),
            Seen::Done => *edge += 1,
            Seen::Never => {
                *edge += 1;
                seen[to as usize] = Seen::Open;
                path.push((to, 0));
            }
        }
    }
    order.reverse();
    order
}

/// A block is decided by a branch if it follows one way out of it for certain, and not another.
fn deciders(order: &[BlockId], next: &[Vec<BlockId>]) -> Vec<Vec<BlockId>> {
    // The block that every way from a block comes to first; the end of the graph is one behind all.
    let end = next.len();
    let mut joins = vec![end; end + 1];
    let mut depth = vec![0usize; end + 1];
    for &block in order.iter().rev() {
        let mut ways = next[block as usize].iter().map(|to| *to as usize);
        let mut join = ways.next().unwrap_or(end);
        for mut way in ways {
            while join != way {
                match depth[join] >= depth[way] {
                    true => join = joins[join],
                    false => way = joins[way],
                }
            }
        }
        joins[block as usize] = join;
        depth[block as usize] = depth[join] + 1;
    }
    let mut deciders = vec![Vec::new(); end];
    for &block in order {
        let ways = &next[block as usize];
        if ways.len() < 2 {
            continue;
        }
        for &way in ways {
            let mut at = way as usize;
            while at != joins[block as usize] {
                if deciders[at].last() != Some(&block) {
                    deciders[at].push(block);
                }
                at = joins[at];
            }
        }
    }
    deciders
}

#[cfg(test)]
mod tests {
    use netkv_ir::{Block, Expr, Place, Span, Terminator};

    use super::*;

    fn graph(ends: Vec<Terminator>) -> Flow {
        let block = |terminator| Block {
            label: String::new(),
            ops: Vec::new(),
            spans: Vec::new(),
            terminator,
            terminator_span: Span::default(),
        };
        Flow::new(&Cfg { blocks: ends.into_iter().map(block).collect() })
    }

    fn branch(then: BlockId, otherwise: BlockId) -> Terminator {
        Terminator::Branch { cond: Expr::Load(Place { word: 0, width: 1 }), then, otherwise }
    }

    #[test]
    fn a_block_is_decided_by_the_branches_that_can_pass_it_by() {
        // if (0) { 1; if (1) 2; 3 } else 4; 5
        let flow = graph(vec![
            branch(1, 4),
            branch(2, 3),
            Terminator::Jump(3),
            Terminator::Jump(5),
            Terminator::Jump(5),
            Terminator::Exit,
        ]);
        assert_eq!(flow.order, [0, 1, 2, 3, 4, 5]);
        assert_eq!(flow.deciders, [vec![], vec![0], vec![1], vec![0], vec![0], vec![]]);
        assert!(flow.after(1).contains(3) && !flow.after(1).contains(4));
    }

    #[test]
    fn a_way_out_decides_on_all_that_follows() {
        // if (0) exit; 2
        let flow = graph(vec![branch(1, 2), Terminator::Exit, Terminator::Exit]);
        assert_eq!(flow.deciders, [vec![], vec![0], vec![0]]);
    }

    #[test]
    fn a_loop_is_gone_through_once() {
        let flow = graph(vec![Terminator::Jump(1), branch(0, 2), branch(1, 2)]);
        assert_eq!(flow.order, [0, 1, 2]);
        assert_eq!(flow.next, [vec![1], vec![2], vec![]]);
        assert!(graph(Vec::new()).order.is_empty());
    }
}
