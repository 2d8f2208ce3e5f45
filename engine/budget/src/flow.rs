//! Control flow of a graph: a topological order of its blocks, and their control dependences.

use std::cmp::Reverse;

use netkv_ir::{BlockId, Cfg, Terminator};

/// A set of small integers.
#[derive(Debug, Clone)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Inserts a number. Returns whether it was not in the set before.
    pub(crate) fn insert(&mut self, at: usize) -> bool {
        let (word, bit) = (at / 64, 1 << (at % 64));
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

/// The control flow of a graph, without back edges. Controls have no loops; a graph from another
/// source may have some, and their back edges are removed.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The blocks in topological order.
    pub(crate) order: Vec<BlockId>,
    /// Successors of each block, without duplicates.
    pub(crate) successors: Vec<Vec<BlockId>>,
    /// Predecessors of each block.
    pub(crate) predecessors: Vec<Vec<BlockId>>,
    /// For each block, the blocks on whose terminator it is directly control-dependent.
    pub(crate) control_dependences: Vec<Vec<BlockId>>,
}

impl Flow {
    pub(crate) fn new(cfg: &Cfg) -> Self {
        let mut successors: Vec<Vec<BlockId>> =
            cfg.blocks.iter().map(|block| targets(&block.terminator)).collect();
        let order = sort(&mut successors);
        let mut predecessors = vec![Vec::new(); successors.len()];
        for &block in &order {
            successors[block as usize].iter().for_each(|to| predecessors[*to as usize].push(block));
        }
        let control_dependences = control_dependences(&order, &successors);
        Self { order, successors, predecessors, control_dependences }
    }

    /// The blocks that are reachable from this one.
    pub(crate) fn reachable_from(&self, block: BlockId) -> BitSet {
        let mut found = BitSet::new(self.successors.len());
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            worklist.extend(
                self.successors[block as usize].iter().filter(|to| found.insert(**to as usize)),
            );
        }
        found
    }
}

fn targets(terminator: &Terminator) -> Vec<BlockId> {
    let mut found = terminator.successors();
    // Descending, so that the reversed postorder below has them ascending.
    found.sort_unstable_by_key(|to| Reverse(*to));
    found.dedup();
    found
}

/// The reversed postorder of a depth-first search from block 0. Back edges are removed.
fn sort(successors: &mut [Vec<BlockId>]) -> Vec<BlockId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Unvisited,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::Unvisited; successors.len()];
    let mut order = Vec::new();
    let mut path: Vec<(BlockId, usize)> = Vec::new();
    if !successors.is_empty() {
        marks[0] = Mark::OnPath;
        path.push((0, 0));
    }
    while let Some((block, edge)) = path.last_mut() {
        let (from, at) = (*block as usize, *edge);
        let Some(to) = successors[from].get(at).copied() else {
            marks[from] = Mark::Done;
            order.push(*block);
            path.pop();
            continue;
        };
        match marks[to as usize] {
            Mark::OnPath => drop(successors[from].remove(at)),
            Mark::Done => *edge += 1,
            Mark::Unvisited => {
                *edge += 1;
                marks[to as usize] = Mark::OnPath;
                path.push((to, 0));
            }
        }
    }
    order.reverse();
    order
}

/// Control dependences (Ferrante, Ottenstein and Warren, "The program dependence graph", 1987): a
/// block depends on a branch if it post-dominates one successor of the branch, but not the branch.
fn control_dependences(order: &[BlockId], successors: &[Vec<BlockId>]) -> Vec<Vec<BlockId>> {
    // Immediate post-dominators. `end` stands for the exit of the graph.
    let end = successors.len();
    let mut post_dominators = vec![end; end + 1];
    let mut depth = vec![0usize; end + 1];
    for &block in order.iter().rev() {
        let mut successors = successors[block as usize].iter().map(|to| *to as usize);
        let mut post_dominator = successors.next().unwrap_or(end);
        for mut successor in successors {
            while post_dominator != successor {
                match depth[post_dominator] >= depth[successor] {
                    true => post_dominator = post_dominators[post_dominator],
                    false => successor = post_dominators[successor],
                }
            }
        }
        post_dominators[block as usize] = post_dominator;
        depth[block as usize] = depth[post_dominator] + 1;
    }
    let mut control_dependences = vec![Vec::new(); end];
    for &block in order {
        let successors = &successors[block as usize];
        if successors.len() < 2 {
            continue;
        }
        for &successor in successors {
            let mut at = successor as usize;
            while at != post_dominators[block as usize] {
                if control_dependences[at].last() != Some(&block) {
                    control_dependences[at].push(block);
                }
                at = post_dominators[at];
            }
        }
    }
    control_dependences
}

#[cfg(test)]
mod tests {
    use netkv_ir::{Block, Expr, Place, Span, Terminator};

    use super::*;

    fn graph(terminators: Vec<Terminator>) -> Flow {
        let block = |terminator| Block {
            label: String::new(),
            ops: Vec::new(),
            spans: Vec::new(),
            terminator,
            terminator_span: Span::default(),
        };
        Flow::new(&Cfg { blocks: terminators.into_iter().map(block).collect() })
    }

    fn branch(then: BlockId, otherwise: BlockId) -> Terminator {
        Terminator::Branch { cond: Expr::Load(Place { word: 0, width: 1 }), then, otherwise }
    }

    #[test]
    fn a_block_depends_on_the_branches_that_can_bypass_it() {
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
        assert_eq!(flow.control_dependences, [vec![], vec![0], vec![1], vec![0], vec![0], vec![]]);
        assert!(flow.reachable_from(1).contains(3) && !flow.reachable_from(1).contains(4));
    }

    #[test]
    fn all_blocks_after_a_conditional_exit_depend_on_it() {
        // if (0) exit; 2
        let flow = graph(vec![branch(1, 2), Terminator::Exit, Terminator::Exit]);
        assert_eq!(flow.control_dependences, [vec![], vec![0], vec![0]]);
    }

    #[test]
    fn back_edges_of_a_loop_are_removed() {
        let flow = graph(vec![Terminator::Jump(1), branch(0, 2), branch(1, 2)]);
        assert_eq!(flow.order, [0, 1, 2]);
        assert_eq!(flow.successors, [vec![1], vec![2], vec![]]);
        assert!(graph(Vec::new()).order.is_empty());
    }
}
