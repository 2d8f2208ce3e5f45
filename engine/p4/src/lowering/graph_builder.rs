//! Builds one control-flow graph, and simplifies it.

use netkv_ir::{Block, BlockId, Cfg, Expr, Op, Span, Terminator};

#[derive(Debug, Default)]
struct BlockBuilder {
    label: String,
    ops: Vec<Op>,
    spans: Vec<Span>,
    end: Option<(Terminator, Span)>,
}

/// A graph under construction. Operations are appended to the current block.
#[derive(Debug)]
pub(super) struct GraphBuilder {
    blocks: Vec<BlockBuilder>,
    current: BlockId,
    /// Number of operations and blocks so far.
    pub size: usize,
}

impl GraphBuilder {
    pub fn new() -> Self {
        GraphBuilder { blocks: vec![BlockBuilder::default()], current: 0, size: 0 }
    }

    pub fn new_block(&mut self, label: impl Into<String>) -> BlockId {
        self.size += 1;
        self.blocks.push(BlockBuilder { label: label.into(), ..BlockBuilder::default() });
        (self.blocks.len() - 1) as BlockId
    }

    /// Makes a block the current one.
    pub fn enter(&mut self, block: BlockId) {
        self.current = block;
    }

    pub fn push_op(&mut self, op: Op, span: Span) {
        self.size += 1;
        if self.blocks[self.current as usize].end.is_some() {
            // Unreachable code after a return or exit gets a block that `finish` removes.
            let dead = self.new_block("");
            self.current = dead;
        }
        let block = &mut self.blocks[self.current as usize];
        block.ops.push(op);
        block.spans.push(span);
    }

    /// Ends the current block, unless it already has a terminator.
    pub fn end_block(&mut self, end: Terminator, span: Span) {
        let block = &mut self.blocks[self.current as usize];
        if block.end.is_none() {
            block.end = Some((simplify(end), span));
        }
    }

    pub fn jump(&mut self, to: BlockId, span: Span) {
        self.end_block(Terminator::Jump(to), span);
    }

    /// The finished graph, without unreachable blocks and unnecessary jumps. With `keep_labels`, a
    /// block with a label (a parser state) is not merged with another.
    pub fn finish(mut self, keep_labels: bool) -> Cfg {
        for block in &mut self.blocks {
            block.end.get_or_insert((Terminator::Exit, Span::default()));
        }
        self.bypass_empty_blocks(keep_labels);
        self.merge_blocks(keep_labels);
        self.renumber()
    }

    /// Redirects jumps to an empty block to the successor of that block.
    fn bypass_empty_blocks(&mut self, keep_labels: bool) {
        let destinations: Vec<BlockId> = (0..self.blocks.len() as BlockId)
            .map(|from| {
                let mut at = from;
                // The bound stops at any block of an endless loop of empty blocks.
                for _ in 0..self.blocks.len() {
                    let block = &self.blocks[at as usize];
                    match &block.end {
                        Some((Terminator::Jump(next), _))
                            if block.ops.is_empty() && (!keep_labels || block.label.is_empty()) =>
                        {
                            at = *next;
                        }
                        _ => break,
                    }
                }
                at
            })
            .collect();
        for block in &mut self.blocks {
            if let Some((end, _)) = &mut block.end {
                for_each_successor(end, &mut |target| *target = destinations[*target as usize]);
            }
        }
    }

    /// Appends a block to its only predecessor.
    fn merge_blocks(&mut self, keep_labels: bool) {
        let mut predecessors = vec![0u32; self.blocks.len()];
        predecessors[0] = 1;
        for i in self.reachable() {
            if let Some((end, _)) = &mut self.blocks[i as usize].end {
                for_each_successor(end, &mut |target| predecessors[*target as usize] += 1);
            }
        }
        for i in self.reachable() {
            while let Some((Terminator::Jump(next), _)) = self.blocks[i as usize].end {
                let labelled = keep_labels && !self.blocks[next as usize].label.is_empty();
                if next == i || next == 0 || predecessors[next as usize] != 1 || labelled {
                    break;
                }
                let taken = std::mem::take(&mut self.blocks[next as usize]);
                // If the list contains `next` again, it is empty and unreachable now.
                let block = &mut self.blocks[i as usize];
                block.ops.extend(taken.ops);
                block.spans.extend(taken.spans);
                block.end = taken.end;
                if block.label.is_empty() {
                    block.label = taken.label;
                }
            }
        }
    }

    fn reachable(&self) -> Vec<BlockId> {
        let mut seen = vec![false; self.blocks.len()];
        let mut order = Vec::new();
        let mut open = vec![0 as BlockId];
        while let Some(i) = open.pop() {
            if std::mem::replace(&mut seen[i as usize], true) {
                continue;
            }
            order.push(i);
            if let Some((end, _)) = &self.blocks[i as usize].end {
                let mut end = end.clone();
                let mut next = Vec::new();
                for_each_successor(&mut end, &mut |target| next.push(*target));
                open.extend(next.into_iter().rev());
            }
        }
        order
    }

    fn renumber(mut self) -> Cfg {
        let order = self.reachable();
        let mut number = vec![0 as BlockId; self.blocks.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old as usize] = new as BlockId;
        }
        let mut blocks = Vec::with_capacity(order.len());
        for old in order {
            let building = std::mem::take(&mut self.blocks[old as usize]);
            let (mut terminator, terminator_span) =
                building.end.unwrap_or((Terminator::Exit, Span::default()));
            for_each_successor(&mut terminator, &mut |target| *target = number[*target as usize]);
            let (label, ops, spans) = (building.label, building.ops, building.spans);
            blocks.push(Block { label, ops, spans, terminator, terminator_span });
        }
        Cfg { blocks }
    }
}

/// Replaces a branch by a jump if its condition is constant or both successors are equal.
fn simplify(end: Terminator) -> Terminator {
    match end {
        Terminator::Branch { cond: Expr::Const(value), then, otherwise } => {
            Terminator::Jump(if value.words.first() == Some(&1) { then } else { otherwise })
        }
        Terminator::Branch { then, otherwise, .. } if then == otherwise => Terminator::Jump(then),
        end => end,
    }
}

/// Calls `f` on every successor.
fn for_each_successor(end: &mut Terminator, f: &mut dyn FnMut(&mut BlockId)) {
    match end {
        Terminator::Jump(to) => f(to),
        Terminator::Branch { then, otherwise, .. } => {
            f(then);
            f(otherwise);
        }
        Terminator::Select { cases, default, .. } => {
            cases.iter_mut().for_each(|case| f(&mut case.target));
            f(default);
        }
        Terminator::Apply(apply) => apply.targets.iter_mut().for_each(|t| f(&mut t.block)),
        Terminator::Exit => {}
    }
}
