//! How packets come to a recirculation (see [`crate::recirculations`]).

use cranelift_codegen::ir::Block;
use netkv_ir::Word;

use crate::recirculations::Recirculation;

/// Words that are bits of the received frame: the first bit, and how many.
pub(super) type Origins = Vec<(Word, (u32, u32))>;

/// How packets of a function come to a recirculation.
pub(super) struct Start<'a> {
    pub(super) recirculation: &'a Recirculation,
    /// The number of its function.
    pub(super) number: u64,
    /// Words of its headers that are in the received frame for all packets that come there. None as
    /// long as none do.
    pub(super) origins: Option<Origins>,
    /// Where packets that have passed it continue in its own function, and where they leave it with
    /// their bytes.
    pub(super) blocks: Option<[Block; 2]>,
}
