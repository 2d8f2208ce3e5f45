//! The resources of a switch.

use serde::Serialize;

/// The resources of one pipeline (ingress or egress) of a switch. The default is the Tofino of the
/// papers. `docs/use/p4.md` has the sources, and the overheads, which are assumptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Stages of a pipeline.
    pub stages: u32,
    /// Stateful ALUs of a stage, which is the maximum number of register arrays in it.
    pub arrays_per_stage: u32,
    /// Width of a register cell. A wider register takes several arrays.
    pub cell_bits: u32,
    /// Width in bits of the widest value that a stateful ALU can update (a pair of cells).
    pub update_bits: u32,
    /// Memory of a stage for registers, counters and meters, in KiB.
    pub state_kib: u32,
    /// Memory of a stage for match-action tables, in KiB.
    pub table_kib: u32,
    /// Unit of memory allocation, in KiB.
    pub block_kib: u32,
    /// Bits of a table's entry besides its key and action data.
    pub entry_bits: u32,
    /// Memory of an exact table in percent of its entries, since a hash table cannot be full.
    pub table_percent: u32,
    /// Bytes of the packet header vector.
    pub phv_bytes: u32,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            stages: 12,
            arrays_per_stage: 4,
            cell_bits: 32,
            update_bits: 64,
            state_kib: 768,
            table_kib: 512,
            block_kib: 16,
            entry_bits: 16,
            table_percent: 125,
            phv_bytes: 768,
        }
    }
}

impl Target {
    /// Memory in KiB for a number of bits, in whole blocks (at least one).
    pub(crate) fn kib(&self, bits: u64) -> u64 {
        let block = u64::from(self.block_kib);
        bits.div_ceil(block * 8192).max(1) * block
    }

    /// Memory of all stages, in KiB.
    pub(crate) fn sram_kib(&self) -> u64 {
        u64::from(self.stages) * u64::from(self.state_kib + self.table_kib)
    }
}
