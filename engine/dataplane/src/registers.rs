//! Memory layout of register arrays, and access to their cells.
//!
//! A cell has the smallest possible size: 1, 2, 4 or 8 bytes, or whole words. A large array of
//! small cells therefore fits in the cache. Arrays of equal size are interleaved if the program
//! accesses them with the same index: the cells of one index are adjacent, like the fields of a
//! struct. A value that is spread over several registers is then in few cache lines.

use std::collections::HashMap;

use netkv_ir::{Expr, Op, Program, Value};

use crate::graph::Graph;
use crate::memory::{LINE, Memory};

/// Maximum size in bytes of the adjacent cells of one index.
const MAX_GROUP_BYTES: usize = 512;

/// Memory layout of the cells of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterLayout {
    /// Width of a cell in bits.
    pub width: u32,
    /// Number of cells.
    pub size: u32,
    /// Index of its memory block, see [`Registers::memory`].
    pub block: usize,
    /// Offset of the first cell in the memory block, in bytes.
    pub offset: usize,
    /// Distance between two cells, in bytes.
    pub stride: usize,
    /// Size of a cell in bytes: 1, 2, 4, 8, or a multiple of 8. Cells are little-endian.
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

    /// Allocates a memory block for interleaved arrays of equal size.
    fn place(&mut self, mut members: Vec<usize>) {
        // With the widest cells first, each cell is aligned to its size.
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

    /// Layouts of all registers, in the order of the program.
    pub fn layouts(&self) -> &[RegisterLayout] {
        &self.layouts
    }

    /// Memory block of a register. Its address does not change.
    pub fn memory(&mut self, register: usize) -> &mut [u8] {
        self.blocks[self.layouts[register].block].bytes_mut()
    }

    /// Offset of a cell in its memory block. `None`: the index is out of range.
    #[inline]
    fn at(&self, register: usize, index: u64) -> Option<usize> {
        let layout = &self.layouts[register];
        (index < u64::from(layout.size)).then(|| layout.offset + index as usize * layout.stride)
    }

    /// Reads a cell into its words. If the index is out of range, returns false and changes
    /// nothing.
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

    /// Writes a cell from its words. An index out of range is ignored.
    #[inline]
    pub(crate) fn write(&mut self, register: usize, index: u64, words: &[u64]) {
        let Some(at) = self.at(register, index) else { return };
        let layout = self.layouts[register];
        let bytes = &mut self.blocks[layout.block].bytes_mut()[at..at + layout.cell];
        for (bytes, word) in bytes.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    /// Value of a cell. `None`: the index is out of range.
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

/// Groups of registers to interleave. They have the same size, and some accesses with the same
/// index expression.
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
        // Two accesses with the same constant index are no sign of related registers.
        if matches!(index, Expr::Const(_)) {
            continue;
        }
        let first = *seen.entry((format!("{index:?}"), size)).or_insert(register);
        let (to, from) = (group_of[first], group_of[register]);
        if to != from && bytes(&groups[to]) + bytes(&groups[from]) <= MAX_GROUP_BYTES {
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
