//! Register arrays in memory.
//!
//! Cells take no more bytes than they need (1, 2, 4, 8, or whole words), so that a large array of
//! small cells stays in the cache. Arrays of one size that the program accesses with the same
//! index are interleaved: their cells for one index lie side by side, as a struct would, so that
//! the parts of a value that a program spreads over several registers come with few cache lines.

use std::collections::HashMap;

use netkv_ir::{Expr, Op, Program, Value};

use crate::executor::Graph;
use crate::memory::{LINE, Memory};

/// Cells of one index that are put side by side take at most this many bytes.
const GROUP_BYTES: usize = 512;

/// Where the cells of a register lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterLayout {
    /// Width of a cell in bits.
    pub width: u32,
    /// Number of cells.
    pub size: u32,
    /// Index of the memory that holds it, see [`Registers::memory`].
    pub block: usize,
    /// Bytes from the start of the memory to the first cell.
    pub offset: usize,
    /// Bytes from one cell to the next.
    pub stride: usize,
    /// Bytes of a cell: 1, 2, 4, 8, or a multiple of 8. Little-endian.
    pub cell: usize,
}

/// All registers of a program.
#[derive(Debug)]
pub struct Registers {
    layouts: Vec<RegisterLayout>,
    blocks: Vec<Memory>,
}

impl Registers {
    pub(crate) fn new(program: &Program) -> Self {
        let mut registers = Self { layouts: Vec::new(), blocks: Vec::new() };
        registers.layouts = program
            .registers
            .iter()
            .map(|register| RegisterLayout {
                width: register.width,
                size: register.size,
                block: 0,
                offset: 0,
                stride: 0,
                cell: cell_bytes(register.width),
            })
            .collect();
        for members in groups(program) {
            registers.place(members);
        }
        registers
    }

    /// Puts arrays of one size side by side into a memory of their own.
    fn place(&mut self, mut members: Vec<usize>) {
        // Wide cells first: each is then aligned to its own size.
        members.sort_by_key(|index| std::cmp::Reverse(self.layouts[*index].cell));
        let bytes: usize = members.iter().map(|index| self.layouts[*index].cell).sum();
        let stride = if members.len() == 1 {
            bytes
        } else if bytes <= LINE {
            bytes.next_power_of_two()
        } else {
            bytes.next_multiple_of(LINE)
        };
        let mut offset = 0;
        let mut size = 0;
        for index in members {
            let layout = &mut self.layouts[index];
            (layout.block, layout.offset, layout.stride) = (self.blocks.len(), offset, stride);
            offset += layout.cell;
            size = layout.size as usize;
        }
        self.blocks.push(Memory::new((size * stride).div_ceil(8)));
    }

    /// Where each register lies, in the program's order.
    pub fn layouts(&self) -> &[RegisterLayout] {
        &self.layouts
    }

    /// The memory that a register lies in; it stays where it is as long as the registers live.
    pub fn memory(&mut self, register: usize) -> &mut [u8] {
        self.blocks[self.layouts[register].block].bytes_mut()
    }

    /// Start of a cell in its memory; none out of range.
    #[inline]
    fn at(&self, register: usize, index: u64) -> Option<usize> {
        let layout = &self.layouts[register];
        (index < u64::from(layout.size)).then(|| layout.offset + index as usize * layout.stride)
    }

    /// Reads a cell into as many words as it takes; false and nothing read out of range.
    #[inline]
    pub(crate) fn read(&self, register: usize, index: u64, words: &mut [u64]) -> bool {
        let Some(at) = self.at(register, index) else { return false };
        let layout = &self.layouts[register];
        let bytes = &self.blocks[layout.block].bytes()[at..at + layout.cell];
        match *bytes {
            [a] => words[0] = u64::from(a),
            [a, b] => words[0] = u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => words[0] = u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => {
                for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
                    *word = bytes.try_into().map_or(0, u64::from_le_bytes);
                }
            }
        }
        true
    }

    /// Writes a cell from its words; nothing out of range.
    #[inline]
    pub(crate) fn write(&mut self, register: usize, index: u64, words: &[u64]) {
        let Some(at) = self.at(register, index) else { return };
        let layout = self.layouts[register];
        let bytes = &mut self.blocks[layout.block].bytes_mut()[at..at + layout.cell];
        for (bytes, word) in bytes.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    /// A cell as a value; none out of range.
    pub fn value(&self, register: usize, index: u32) -> Option<Value> {
        let width = self.layouts[register].width;
        let mut words = vec![0; width.div_ceil(64) as usize];
        self.read(register, u64::from(index), &mut words).then_some(Value { width, words })
    }
}

fn cell_bytes(width: u32) -> usize {
    let bytes = width.div_ceil(8) as usize;
    if bytes <= 8 { bytes.next_power_of_two() } else { bytes.next_multiple_of(8) }
}

/// Registers to put side by side: of one size, and accessed somewhere with the same index.
fn groups(program: &Program) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> =
        (0..program.registers.len()).map(|index| vec![index]).collect();
    let mut group_of: Vec<usize> = (0..program.registers.len()).collect();
    let bytes = |members: &[usize]| -> usize {
        members.iter().map(|index| cell_bytes(program.registers[*index].width)).sum()
    };
    let mut seen: HashMap<(String, u32), usize> = HashMap::new();
    for (register, index) in accesses(program) {
        let size = program.registers[register].size;
        // Constant indices say nothing: every array has a cell 0.
        if matches!(index, Expr::Const(_)) {
            continue;
        }
        let first = *seen.entry((format!("{index:?}"), size)).or_insert(register);
        let (to, from) = (group_of[first], group_of[register]);
        if to != from && bytes(&groups[to]) + bytes(&groups[from]) <= GROUP_BYTES {
            let moved = std::mem::take(&mut groups[from]);
            moved.iter().for_each(|member| group_of[*member] = to);
            groups[to].extend(moved);
        }
    }
    groups.retain(|members| !members.is_empty());
    groups
}

fn accesses(program: &Program) -> impl Iterator<Item = (usize, &Expr)> {
    let blocks = Graph::ALL.into_iter().flat_map(|graph| &graph.of(program).blocks);
    blocks.flat_map(|block| &block.ops).filter_map(|op| match op {
        Op::RegisterRead { register, index, .. } | Op::RegisterWrite { register, index, .. } => {
            Some((*register as usize, index))
        }
        _ => None,
    })
}
