//! Static analysis of the parser's position.
//!
//! Most parsers are trees of headers of fixed size. Then the byte of the cursor and the minimum
//! length of the packet are known in each state. Loads have constant offsets, and most length
//! checks are omitted.

use netkv_ir::{BlockId, Cfg, Expr, Op, Program};

use crate::block_order::topological_order;

/// The position in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// Bytes parsed, if the number is the same for all packets.
    pub(crate) cursor: Option<u32>,
    /// Minimum length of the packet in bytes.
    pub(crate) at_least: u32,
}

impl Position {
    fn join(self, other: Position) -> Position {
        Position {
            cursor: self.cursor.filter(|_| self.cursor == other.cursor),
            at_least: self.at_least.min(other.at_least),
        }
    }

    /// Advances by `bytes`, which the packet has.
    pub(crate) fn read(&mut self, bytes: u32) {
        self.require(bytes);
        self.cursor = self.cursor.and_then(|cursor| cursor.checked_add(bytes));
    }

    /// The packet has `bytes` after the cursor.
    pub(crate) fn require(&mut self, bytes: u32) {
        if let Some(end) = self.cursor.and_then(|cursor| cursor.checked_add(bytes)) {
            self.at_least = self.at_least.max(end);
        }
    }

    /// Applies an operation that succeeds.
    fn op(&mut self, program: &Program, op: &Op) {
        match op {
            Op::Extract(header) => self.read(fixed_bytes(program, *header)),
            Op::ExtractNext(stack) => {
                self.read(fixed_bytes(program, program.stacks[*stack as usize].first));
            }
            Op::Lookahead { need, .. } => self.require(need.div_ceil(8)),
            Op::Advance(Expr::Const(bits)) if bits.width <= 64 && bits.words[0] < 1 << 20 => {
                self.read(bits.words[0] as u32 / 8);
            }
            Op::ExtractVarbit { .. } | Op::Advance(_) => self.cursor = None,
            _ => {}
        }
    }
}

/// Maximum number of bytes of a packet that a parser reads. None if it has no maximum.
pub(crate) fn reach(program: &Program, cfg: &Cfg) -> Option<u32> {
    let mut at_start = vec![0; cfg.blocks.len()];
    let mut reach = 0;
    for id in topological_order(cfg)? {
        let mut position = Position { cursor: Some(at_start[id as usize]), at_least: 0 };
        let block = &cfg.blocks[id as usize];
        block.ops.iter().for_each(|op| position.op(program, op));
        let cursor = position.cursor?;
        reach = reach.max(position.at_least);
        for next in block.terminator.successors() {
            let start = &mut at_start[next as usize];
            *start = cursor.max(*start);
        }
    }
    Some(reach)
}

/// Bytes of a header without its varbit.
pub(crate) fn fixed_bytes(program: &Program, header: u32) -> u32 {
    let fields = &program.headers[header as usize].fields;
    let fixed = fields.iter().filter(|field| field.varbit_length.is_none());
    fixed.map(|field| field.place.width).sum::<u32>() / 8
}

/// The position at the start of each block of a parser; none for unreachable blocks.
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
        for next in block.terminator.successors() {
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
