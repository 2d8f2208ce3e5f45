//! What is known about the parser's position before a packet comes.
//!
//! Most parsers are trees of headers of fixed size: in each state it is known at which byte the
//! cursor stands and how long the packet is at least. Then loads have constant offsets and most
//! checks of the length fall away.

use netkv_ir::{BlockId, Cfg, Expr, Op, Program, Terminator};

/// The position in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// Bytes parsed, if it is the same for all packets that come here.
    pub(crate) cursor: Option<u32>,
    /// Bytes that the packet has at least.
    pub(crate) at_least: u32,
}

impl Position {
    fn join(self, other: Position) -> Position {
        Position {
            cursor: self.cursor.filter(|_| self.cursor == other.cursor),
            at_least: self.at_least.min(other.at_least),
        }
    }

    /// Reads `bytes` and moves behind them.
    pub(crate) fn read(&mut self, bytes: u32) {
        self.look(bytes);
        self.cursor = self.cursor.and_then(|cursor| cursor.checked_add(bytes));
    }

    /// Has seen that `bytes` are there.
    pub(crate) fn look(&mut self, bytes: u32) {
        if let Some(end) = self.cursor.and_then(|cursor| cursor.checked_add(bytes)) {
            self.at_least = self.at_least.max(end);
        }
    }

    /// What an operation that succeeds does to it.
    fn op(&mut self, program: &Program, op: &Op) {
        match op {
            Op::Extract(header) => self.read(fixed_bytes(program, *header)),
            Op::ExtractNext(stack) => {
                self.read(fixed_bytes(program, program.stacks[*stack as usize].first));
            }
            Op::Lookahead { need, .. } => self.look(need.div_ceil(8)),
            Op::Advance(Expr::Const(bits)) if bits.width <= 64 && bits.words[0] < 1 << 20 => {
                self.read(bits.words[0] as u32 / 8);
            }
            Op::ExtractVarbit { .. } | Op::Advance(_) => self.cursor = None,
            _ => {}
        }
    }
}

/// Bytes of a header without its varbit.
pub(crate) fn fixed_bytes(program: &Program, header: u32) -> u32 {
    let fields = &program.headers[header as usize].fields;
    let fixed = fields.iter().filter(|field| field.varbit_length.is_none());
    fixed.map(|field| field.place.width).sum::<u32>() / 8
}

/// The position at the start of each block of a graph that starts at the first byte; none for
/// blocks that nothing reaches.
pub(crate) fn positions(program: &Program, cfg: &Cfg) -> Vec<Option<Position>> {
    let mut at: Vec<Option<Position>> = vec![None; cfg.blocks.len()];
    let mut work: Vec<BlockId> = Vec::new();
    if let Some(first) = at.first_mut() {
        *first = Some(Position { cursor: Some(0), at_least: 0 });
        work.push(0);
    }
    while let Some(block) = work.pop() {
        let Some(mut position) = at[block as usize] else { continue };
        let block = &cfg.blocks[block as usize];
        block.ops.iter().for_each(|op| position.op(program, op));
        for next in successors(&block.terminator) {
            let known = &mut at[next as usize];
            let joined = known.map_or(position, |known| known.join(position));
            if *known != Some(joined) {
                *known = Some(joined);
                work.push(next);
            }
        }
    }
    at
}

/// Blocks that may come after a terminator.
pub(crate) fn successors(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Jump(block) => vec![*block],
        Terminator::Branch { then, otherwise, .. } => vec![*then, *otherwise],
        Terminator::Select { cases, default, .. } => {
            cases.iter().map(|case| case.target).chain([*default]).collect()
        }
        Terminator::Apply(apply) => apply.targets.iter().map(|target| target.block).collect(),
        Terminator::Exit => Vec::new(),
    }
}
