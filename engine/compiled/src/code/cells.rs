//! Which values are words of register cells (see [`super::vectors`]).
//!
//! The vector of a sent value is loaded where it is written to the frame, so the cell must still be
//! as it was when the program read it.

use std::collections::HashMap;

use cranelift_codegen::ir::{Function, Value};

use super::parts::{Part, Source};

/// Bytes of a vector.
pub(super) const VECTOR: u32 = 16;

/// A word that was loaded from a cell.
#[derive(Debug, Clone, Copy)]
struct CellWord {
    /// The address of the word is this value and the offset.
    at: Value,
    offset: i32,
    register: usize,
    /// Number of writes to the register that were compiled before the word was loaded.
    writes: u32,
}

/// Which values are words of cells, and how many writes to each register the code has so far.
///
/// Code without cycles is compiled in the order in which it runs; code of other paths may be in
/// between. So a cell is as it was if no write to its register has been compiled since.
#[derive(Debug, Default)]
pub(super) struct CellWords {
    words: HashMap<Value, CellWord>,
    writes: HashMap<usize, u32>,
    /// All words that were loaded from cells.
    loads: Vec<Value>,
    /// Whether the current graph has a cycle, so that words are not noted.
    cyclic: bool,
}

impl CellWords {
    /// Forgets the words, at the start of code that may run several times: writes that are compiled
    /// later may come before it.
    pub(super) fn forget(&mut self) {
        self.words.clear();
    }

    /// Begins a graph, which may have a cycle.
    pub(super) fn start_graph(&mut self, cyclic: bool) {
        self.cyclic = cyclic;
        if cyclic {
            self.forget();
        }
    }

    /// Notes a write to a cell of a register.
    pub(super) fn note_write(&mut self, register: usize) {
        *self.writes.entry(register).or_default() += 1;
    }

    /// Notes words that were loaded from a cell of a register.
    pub(super) fn note_read(&mut self, register: usize, at: Value, offset: i32, words: &[Value]) {
        self.loads.extend(words);
        if self.cyclic {
            return;
        }
        let writes = self.writes_to(register);
        for (word, offset) in words.iter().zip((offset..).step_by(8)) {
            self.words.insert(*word, CellWord { at, offset, register, writes });
        }
    }

    /// All words that were loaded from cells.
    pub(super) fn into_loads(self) -> Vec<Value> {
        self.loads
    }

    fn writes_to(&self, register: usize) -> u32 {
        self.writes.get(&register).copied().unwrap_or(0)
    }

    /// The word of a cell that a part is, if the cell is as it was.
    fn word(&self, part: &Part) -> Option<CellWord> {
        let Source::Value(value) = part.source else { return None };
        let word = self.words.get(&value)?;
        (part.bits == 64 && word.writes == self.writes_to(word.register)).then_some(*word)
    }

    /// Whether the first two parts are a vector of a cell: the address, and the offset from it.
    pub(super) fn vector(&self, parts: &[Part]) -> Option<(Value, i32)> {
        let [high, low] = parts.first_chunk::<2>()?.each_ref().map(|part| self.word(part));
        let (high, low) = (high?, low?);
        (high.at == low.at && high.offset == low.offset + 8).then_some((low.at, low.offset))
    }
}

/// Removes those of these loads whose values nothing uses. Cranelift keeps them.
pub(super) fn remove_unused_loads(function: &mut Function, loads: &[Value]) {
    let (dfg, layout) = (&function.dfg, &function.layout);
    let mut used = vec![false; dfg.num_values()];
    for inst in layout.blocks().flat_map(|block| layout.block_insts(block)) {
        for value in dfg.inst_values(inst) {
            used[dfg.resolve_aliases(value).as_u32() as usize] = true;
        }
    }
    let unused = loads.iter().filter(|value| !used[value.as_u32() as usize]);
    let insts: Vec<_> = unused.filter_map(|value| dfg.value_def(*value).inst()).collect();
    for inst in insts {
        function.layout.remove_inst(inst);
    }
}
