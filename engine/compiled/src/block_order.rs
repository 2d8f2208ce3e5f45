//! The order in which blocks of a graph run.

use netkv_ir::{BlockId, Cfg};

/// The reachable blocks, in topological order if the graph has no cycle.
pub(crate) struct Order {
    pub(crate) order: Vec<BlockId>,
    pub(crate) cyclic: bool,
}

/// Whether a graph has a cycle.
pub(crate) fn cyclic(cfg: &Cfg) -> bool {
    !cfg.blocks.is_empty() && order(cfg).cyclic
}

/// The reachable blocks of a graph in topological order. None if it has a cycle.
pub(crate) fn topological_order(cfg: &Cfg) -> Option<Vec<BlockId>> {
    if cfg.blocks.is_empty() {
        return Some(Vec::new());
    }
    let Order { order, cyclic } = order(cfg);
    (!cyclic).then_some(order)
}

/// The reachable blocks of a graph that has some.
pub(crate) fn order(cfg: &Cfg) -> Order {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; cfg.blocks.len()];
    let (mut order, mut cyclic) = (Vec::new(), false);
    // Depth-first search with an explicit stack of blocks and their numbers of visited successors.
    let mut path = vec![(0u32, cfg.blocks[0].terminator.successors())];
    marks[0] = Mark::Open;
    while let Some((block, left)) = path.last_mut() {
        match left.pop() {
            None => {
                marks[*block as usize] = Mark::Done;
                order.push(*block);
                path.pop();
            }
            Some(next) => match marks[next as usize] {
                Mark::New => {
                    marks[next as usize] = Mark::Open;
                    path.push((next, cfg.blocks[next as usize].terminator.successors()));
                }
                Mark::Open => cyclic = true,
                Mark::Done => {}
            },
        }
    }
    order.reverse();
    Order { order, cyclic }
}
