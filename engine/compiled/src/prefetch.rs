//! Fetching what a packet will touch before its turn comes.
//!
//! A read of a large cache misses the processor's caches twice in a row: at the slot of its key,
//! and at the register cells that the entry names. In a batch the key of a packet some places
//! ahead is known, so both can be on their way while other packets are worked on: a small function
//! of the program (parser and key only) tells the slot of a frame; some packets later the slot is
//! there, and tells the cells. All of it is a hint. A packet that goes another way loses a few
//! nanoseconds and nothing else.
#![allow(unsafe_code)]

use std::collections::HashMap;

use netkv_dataplane::RegisterLayout;
use netkv_ir::{
    Apply, ApplyTarget, Block, Expr, MatchKind, Op, Program, Terminator, UnaryOp, Word,
};

use crate::code::{Shapes, cyclic};

/// Entries of a table that is worth looking ahead for.
const LARGE_TABLE: u64 = 1024;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The table whose slots are fetched early, and what its entries lead to.
#[derive(Debug)]
pub(crate) struct Foresight {
    pub(crate) table: usize,
    /// Words of the table's key.
    key_words: usize,
    cells: Vec<Cells>,
}

/// Register cells at an index that an action's parameter gives.
#[derive(Debug)]
struct Cells {
    action: u64,
    /// Word of the action's data that is the index.
    word: usize,
    /// Number of cells.
    size: u64,
    block: usize,
    stride: usize,
    /// Bytes from the start of a cell to what is fetched.
    offsets: Vec<usize>,
}

impl Foresight {
    /// The first large exact-match table of ingress; none if there is none.
    pub(crate) fn new<'a>(program: &'a Program, shapes: &Shapes) -> Option<(Self, &'a Apply)> {
        // A parser that runs twice must leave nothing behind, and end.
        let graph = &program.parser;
        if !graph.blocks.iter().flat_map(|block| &block.ops).all(leaves_nothing) || cyclic(graph) {
            return None;
        }
        let blocks = &program.ingress.blocks;
        let apply = blocks.iter().find_map(|block| match &block.terminator {
            Terminator::Apply(apply)
                if program.tables[apply.table as usize].size >= LARGE_TABLE
                    && shapes.slot_words[apply.table as usize].is_some()
                    && !apply.keys.is_empty() =>
            {
                Some(&**apply)
            }
            _ => None,
        })?;
        let table = apply.table as usize;
        let keys = apply.keys.iter().zip(&program.tables[table].keys);
        let key_words = keys
            .filter(|(_, key)| key.kind != MatchKind::Selector)
            .map(|(expr, _)| expr.width().div_ceil(64) as usize)
            .sum();
        let cells = (0..)
            .zip(&apply.targets)
            .flat_map(|(action, target)| cells(program, shapes, action, target))
            .collect();
        Some((Self { table, key_words, cells }, apply))
    }

    /// Fetches the slot at an address.
    #[inline]
    pub(crate) fn fetch_slot(slot: *const u64) {
        fetch(slot.cast());
    }

    /// Fetches the cells that the entry in a slot names.
    ///
    /// # Safety
    ///
    /// `slot` is a slot of the table, and `blocks` are the starts of the register memories, of the
    /// program that this was made for.
    #[inline]
    pub(crate) unsafe fn fetch_cells(&self, slot: *const u64, blocks: &[*mut u8]) {
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
            let index = unsafe { *slot.add(1 + self.key_words + cells.word) };
            if index < cells.size {
                let cell = blocks[cells.block].wrapping_add(index as usize * cells.stride);
                cells.offsets.iter().for_each(|offset| fetch(cell.wrapping_add(*offset)));
            }
        }
    }
}

/// Whether an operation changes nothing but the packet. What is not named here does until someone
/// has thought about it.
fn leaves_nothing(op: &Op) -> bool {
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

/// The cells that an action's parameters index, wherever ingress accesses them.
fn cells(program: &Program, shapes: &Shapes, action: u64, target: &ApplyTarget) -> Vec<Cells> {
    let mut parameters: HashMap<Word, usize> = HashMap::new();
    let mut word = 0;
    for place in &target.params {
        if place.width <= 64 {
            parameters.insert(place.word, word);
        }
        word += place.words() as usize;
    }
    copies(&program.ingress.blocks, target.block, &mut parameters);
    let mut found: Vec<Cells> = Vec::new();
    for block in &program.ingress.blocks {
        for op in &block.ops {
            let (Op::RegisterRead { register, index, .. }
            | Op::RegisterWrite { register, index, .. }) = op
            else {
                continue;
            };
            let layout = &shapes.registers[*register as usize];
            if let Some(word) = loaded(index).and_then(|word| parameters.get(&word)) {
                add(&mut found, action, *word, layout);
            }
        }
    }
    found
}

fn add(found: &mut Vec<Cells>, action: u64, word: usize, layout: &RegisterLayout) {
    let same = |cells: &&mut Cells| cells.word == word && cells.block == layout.block;
    let index = match found.iter_mut().find(same) {
        Some(cells) => cells,
        None => {
            found.push(Cells {
                action,
                word,
                size: u64::from(layout.size),
                block: layout.block,
                stride: layout.stride,
                offsets: Vec::new(),
            });
            let last = found.len() - 1;
            &mut found[last]
        }
    };
    for offset in [layout.offset, layout.offset + layout.cell - 1] {
        if !index.offsets.iter().any(|known| known / LINE == offset / LINE) {
            index.offsets.push(offset);
        }
    }
}

/// Words that an action's body makes copies of its parameters.
fn copies(blocks: &[Block], start: u32, parameters: &mut HashMap<Word, usize>) {
    let mut at = start;
    // A body is short, and ends where actions meet.
    for _ in 0..8 {
        let block = &blocks[at as usize];
        for op in &block.ops {
            if let Op::Assign { to, value } = op
                && let Some(parameter) = loaded(value).and_then(|word| parameters.get(&word))
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

/// The word that an expression reads, if it is that word's number and nothing else.
fn loaded(expr: &Expr) -> Option<Word> {
    match expr {
        Expr::Load(place) if place.width <= 64 => Some(place.word),
        Expr::Unary { op: UnaryOp::ZeroExtend, arg, width } if *width >= arg.width() => loaded(arg),
        _ => None,
    }
}

#[inline]
fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed; it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
