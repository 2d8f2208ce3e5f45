//! Prefetches table slots and register cells of packets that are next in a batch.
//!
//! A lookup in a large table has two dependent misses in the processor's caches: the slot of the
//! key, and the register cells whose index is in the entry. The packets of a batch are known in
//! advance, so both misses can overlap with the work on earlier packets. A compiled function
//! (parser and key only) computes the slot of a frame, and the slot is prefetched. Some packets
//! later the slot is read, and the cells are prefetched. A prefetch is only a hint: it changes no
//! result.
#![allow(unsafe_code)]

use std::collections::HashMap;

use netkv_dataplane::RegisterLayout;
use netkv_ir::{
    Apply, ApplyTarget, Block, Cfg, Expr, MatchKind, Op, Program, Terminator, UnaryOp, Word,
};

use crate::block_order::cyclic;
use crate::conditions::{Condition, conditions_of};
use crate::shapes::{Search, Shapes};
use crate::words::written_in;

/// Minimum size of a table whose slots are prefetched.
const LARGE_TABLE: u64 = 1024;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The table whose slots are prefetched, and the register cells that its entries refer to.
#[derive(Debug)]
pub(crate) struct Prefetch {
    pub(crate) table: usize,
    cells: Vec<Cells>,
}

/// Register cells in one block of memory whose index is a parameter of an action.
#[derive(Debug)]
struct Cells {
    action: u64,
    /// Word of the slot that is the index.
    word: usize,
    /// Number of cells.
    size: u64,
    block: usize,
    stride: usize,
    /// A byte of each cache line of the cells, from the start of the first of them.
    offsets: Vec<usize>,
}

/// The lookup whose slot is prefetched.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    pub(crate) apply: &'a Apply,
    /// Conditions without which a packet does not come to the lookup.
    pub(crate) conditions: Vec<Condition<'a>>,
}

impl Prefetch {
    /// For the largest exact-match table of ingress; none if there is no large one.
    pub(crate) fn new<'a>(program: &'a Program, shapes: &Shapes) -> Option<(Self, Lookup<'a>)> {
        if !is_repeatable(&program.parser) {
            return None;
        }
        let blocks = &program.ingress.blocks;
        let size = |apply: &Apply| program.tables[apply.table as usize].size;
        let large = (0..).zip(blocks).filter_map(|(id, block)| match &block.terminator {
            Terminator::Apply(apply)
                if size(apply) >= LARGE_TABLE
                    && matches!(shapes.searches[apply.table as usize], Search::Exact { .. })
                    && !apply.keys.is_empty() =>
            {
                Some((id, &**apply))
            }
            _ => None,
        });
        let (block, apply) = large.max_by_key(|(_, apply)| size(apply))?;
        let before = written_in(program, &program.verify_checksum);
        let conditions = conditions_of(program, &program.ingress, block, &before);
        let table = apply.table as usize;
        let keys = apply.keys.iter().zip(&program.tables[table].keys);
        let key_words: usize = keys
            .filter(|(_, key)| key.kind != MatchKind::Selector)
            .map(|(expr, _)| expr.width().div_ceil(64) as usize)
            .sum();
        // A slot has a head, the key and the parameters.
        let data = 1 + key_words;
        let cells = (0..)
            .zip(&apply.targets)
            .flat_map(|(action, target)| cells_of_action(program, shapes, action, target, data))
            .collect();
        Some((Self { table, cells }, Lookup { apply, conditions }))
    }

    /// Prefetches a slot.
    #[inline]
    pub(crate) fn prefetch_slot(slot: *const u64) {
        prefetch_line(slot.cast());
    }

    /// Prefetches the cells that the entry in a slot refers to.
    ///
    /// # Safety
    ///
    /// `slot` is null or a slot of the table, and `blocks` are the starts of the register memory
    /// blocks, of the program given to [`Prefetch::new`].
    #[inline]
    pub(crate) unsafe fn prefetch_cells(&self, slot: *const u64, blocks: &[*mut u8]) {
        if slot.is_null() {
            return;
        }
        // SAFETY: a slot has a head, the key and the longest action data.
        let head = unsafe { *slot };
        if head == 0 {
            return;
        }
        for cells in &self.cells {
            if head & 0xffff_ffff != cells.action {
                continue;
            }
            // SAFETY: as above.
            let index = unsafe { *slot.add(cells.word) };
            if index < cells.size {
                let cell = blocks[cells.block].wrapping_add(index as usize * cells.stride);
                for offset in &cells.offsets {
                    prefetch_line(cell.wrapping_add(*offset));
                }
            }
        }
    }
}

/// Whether a parser can run twice for a packet: it terminates, and has no side effects.
pub(crate) fn is_repeatable(parser: &Cfg) -> bool {
    parser.blocks.iter().flat_map(|block| &block.ops).all(changes_only_the_packet)
        && !cyclic(parser)
}

/// Whether an operation has no side effect except on the packet. An operation that is not listed
/// counts as one with side effects.
fn changes_only_the_packet(op: &Op) -> bool {
    matches!(
        op,
        Op::Assign { .. }
            | Op::AssignSlice { .. }
            | Op::StoreElement { .. }
            | Op::CopyHeader { .. }
            | Op::CopyWords { .. }
            | Op::ZeroWords { .. }
            | Op::SetValid(_)
            | Op::SetInvalid(_)
            | Op::SetValidElement { .. }
            | Op::PushFront { .. }
            | Op::PopFront { .. }
            | Op::Extract(_)
            | Op::ExtractNext(_)
            | Op::ExtractVarbit { .. }
            | Op::Lookahead { .. }
            | Op::Advance(_)
            | Op::Verify { .. }
            | Op::CheckStackLast(_)
            | Op::Reject
            | Op::RegisterRead { .. }
            | Op::Log { .. }
    )
}

/// The cells that ingress and egress access at an index that is a parameter of the
/// action. The parameters begin at word `data` of a slot.
fn cells_of_action(
    program: &Program,
    shapes: &Shapes,
    action: u64,
    target: &ApplyTarget,
    data: usize,
) -> Vec<Cells> {
    let mut parameters: HashMap<Word, usize> = HashMap::new();
    let mut word = data;
    for place in &target.params {
        if place.width <= 64 {
            parameters.insert(place.word, word);
        }
        word += place.words() as usize;
    }
    add_copies(&program.ingress.blocks, target.block, &mut parameters);
    let mut all: Vec<Cells> = Vec::new();
    for block in program.ingress.blocks.iter().chain(&program.egress.blocks) {
        for op in &block.ops {
            let (Op::RegisterRead { register, index, .. }
            | Op::RegisterWrite { register, index, .. }) = op
            else {
                continue;
            };
            let layout = &shapes.registers[*register as usize];
            if let Some(word) = loaded_word(index).and_then(|word| parameters.get(&word)) {
                add_cells(&mut all, action, *word, layout);
            }
        }
    }
    all
}

fn add_cells(all: &mut Vec<Cells>, action: u64, word: usize, layout: &RegisterLayout) {
    let (block, stride, size) = (layout.block, layout.stride, u64::from(layout.size));
    let known = all.iter().position(|cells| cells.word == word && cells.block == block);
    let cells = known.unwrap_or_else(|| {
        all.push(Cells { action, word, size, block, stride, offsets: Vec::new() });
        all.len() - 1
    });
    let offsets = &mut all[cells].offsets;
    for offset in [layout.offset, layout.offset + layout.cell - 1] {
        if !offsets.iter().any(|other| other / LINE == offset / LINE) {
            offsets.push(offset);
        }
    }
}

/// Adds the words to which an action's body copies its parameters.
fn add_copies(blocks: &[Block], start: u32, parameters: &mut HashMap<Word, usize>) {
    let mut at = start;
    // A body has few blocks. It ends at the block that follows all actions.
    for _ in 0..8 {
        let block = &blocks[at as usize];
        for op in &block.ops {
            if let Op::Assign { to, value } = op
                && let Some(parameter) = loaded_word(value).and_then(|word| parameters.get(&word))
            {
                let parameter = *parameter;
                parameters.insert(to.word, parameter);
            }
        }
        match block.terminator {
            Terminator::Jump(next) => at = next,
            _ => return,
        }
    }
}

/// The word whose unchanged value an expression is; none if it is another expression.
fn loaded_word(expr: &Expr) -> Option<Word> {
    match expr {
        Expr::Load(place) if place.width <= 64 => Some(place.word),
        Expr::Unary { op: UnaryOp::ZeroExtend, arg, width } if *width >= arg.width() => {
            loaded_word(arg)
        }
        _ => None,
    }
}

#[inline]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed; it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
