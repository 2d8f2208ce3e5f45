//! The request numbers of the writes that a store has applied. A restarted server reads them from
//! the store, and so recognizes late copies of writes from before the restart.
//!
//! Rules
//! -----
//! 1. A write and its number are stored atomically.
//! 2. A number is one bit of a block, so writes may end in any order.
//! 3. A block has 64 consecutive numbers. The last 128 blocks of a sender cover its window and
//!    more. A block is replaced by a newer one, never by an older one.
//! 4. Blocks older than `FORGET` are ignored: request numbers wrap, and no copy is that late.

use netkv_wire::is_newer;
use rustc_hash::FxHashMap;

use super::request_numbers::{WINDOW, is_forgotten};

/// The request that a write carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The sender of the request.
    pub sender: u16,
    /// Its request number.
    pub request: u32,
    /// When it was handed to the store, in seconds of a clock that runs on while the server is
    /// down.
    pub second: u32,
}

/// Request numbers in a block.
const NUMBERS: u32 = 64;
/// Blocks of a sender: at least one more than the window has, and a power of two, so that the index
/// of a block follows that of the one before it when request numbers wrap.
const BLOCKS: usize = 128;
const _: () = assert!(BLOCKS as u32 * NUMBERS >= WINDOW + NUMBERS);

/// Which of 64 consecutive requests of a sender were writes that have been applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The first of the numbers, a multiple of 64.
    first: u32,
    /// When the last of the writes was handed to the store.
    pub(crate) second: u32,
    /// Bit i: number `first + i` was applied. 0: the block is not in use.
    bits: u64,
}

impl Block {
    /// Bytes of a block in a store.
    pub const BYTES: usize = 16;

    /// The block as a store keeps it, big-endian.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..4].copy_from_slice(&self.first.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.second.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.bits.to_be_bytes());
        bytes
    }

    /// The block in these bytes; `None` if they are not a block.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        let (second, rest) = rest.split_first_chunk()?;
        let bits = rest.try_into().ok()?;
        let block = Self {
            first: u32::from_be_bytes(*first),
            second: u32::from_be_bytes(*second),
            bits: u64::from_be_bytes(bits),
        };
        (block.first.is_multiple_of(NUMBERS) && block.bits != 0).then_some(block)
    }

    /// The numbers that were applied, oldest first.
    pub(crate) fn requests(self) -> impl DoubleEndedIterator<Item = u32> {
        (0..NUMBERS).filter(move |bit| self.bits >> bit & 1 == 1).map(move |bit| self.first + bit)
    }

    const fn index(self) -> usize {
        (self.first / NUMBERS) as usize % BLOCKS
    }
}

/// The applied writes of all senders. The module comment has the rules.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Applied {
    senders: FxHashMap<u16, Box<[Block; BLOCKS]>>,
}

impl Applied {
    /// Adds a write. Returns the block that changed, or `None` if a newer block has its index.
    pub fn add(&mut self, origin: Origin) -> Option<Block> {
        let Origin { sender, request, second } = origin;
        let first = request - request % NUMBERS;
        let new = Block { first, second, bits: 0 };
        let blocks = self.senders.entry(sender).or_insert_with(empty);
        let block = &mut blocks[new.index()];
        if block.bits == 0 || is_forgotten(block.second, second) || is_newer(first, block.first) {
            *block = new;
        } else if block.first != first {
            return None;
        }
        block.second = block.second.max(second);
        block.bits |= 1 << (request % NUMBERS);
        Some(*block)
    }

    /// Restores a block that [`Applied::add`] returned before a restart.
    pub fn restore(&mut self, sender: u16, block: Block) {
        self.senders.entry(sender).or_insert_with(empty)[block.index()] = block;
    }

    /// Whether a write of this sender has ever been added.
    pub fn knows(&self, sender: u16) -> bool {
        self.senders.contains_key(&sender)
    }

    /// Sender and number of every write, in no order.
    pub fn requests(&self) -> impl Iterator<Item = (u16, u32)> {
        self.senders().flat_map(|(sender, blocks)| {
            blocks.flat_map(Block::requests).map(move |request| (sender, request))
        })
    }

    /// Number of blocks of one sender.
    pub const BLOCKS: usize = BLOCKS;

    /// The index of a block in those of its sender. A block replaces the one 128 blocks before it.
    pub const fn index_of(block: Block) -> usize {
        block.index()
    }

    /// The senders with their blocks, in no order.
    pub(crate) fn senders(
        &self,
    ) -> impl Iterator<Item = (u16, impl Iterator<Item = Block> + Clone)> {
        self.senders.iter().map(|(sender, blocks)| {
            (*sender, blocks.iter().copied().filter(|block| block.bits != 0))
        })
    }
}

fn empty() -> Box<[Block; BLOCKS]> {
    Box::new([Block::default(); BLOCKS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::request_numbers::FORGET_SECONDS;

    fn origin(request: u32, second: u32) -> Origin {
        Origin { sender: 1, request, second }
    }

    fn requests_of(applied: &Applied) -> Vec<u32> {
        let mut all: Vec<u32> =
            applied.senders().flat_map(|(_, blocks)| blocks.flat_map(Block::requests)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_write_of_a_window_is_remembered_across_the_wrap() {
        for start in [0, 63, 1000, u32::MAX - 2000] {
            let mut applied = Applied::default();
            let numbers: Vec<u32> = (0..WINDOW).map(|at| start.wrapping_add(at)).collect();
            // 1365 has no divisor in common with 4096, so this goes through all of them.
            for at in 0..WINDOW as usize {
                applied.add(origin(numbers[at * 1365 % WINDOW as usize], 5));
            }
            let mut expected = numbers;
            expected.sort_unstable();
            assert_eq!(requests_of(&applied), expected);
        }
    }

    #[test]
    fn a_late_write_does_not_replace_newer_ones() {
        let mut applied = Applied::default();
        let ahead = BLOCKS as u32 * NUMBERS;
        applied.add(origin(ahead + 3, 9));
        assert_eq!(applied.add(origin(3, 9)), None);
        assert_eq!(requests_of(&applied), [ahead + 3]);
    }

    #[test]
    fn old_numbers_are_not_taken_for_new_ones_after_a_wrap() {
        let later = 7 + FORGET_SECONDS + 1;
        for before in [64, 64 + BLOCKS as u32 * NUMBERS] {
            let mut applied = Applied::default();
            applied.add(origin(before, 7));
            applied.add(origin(65, later));
            assert_eq!(requests_of(&applied), [65], "after number {before}");
        }
    }

    #[test]
    fn blocks_are_decoded_and_invalid_bytes_refused() {
        let mut applied = Applied::default();
        applied.add(origin(130, 7));
        let block = applied.add(origin(191, 9)).unwrap();
        assert_eq!(Block::from_bytes(&block.to_bytes()), Some(block));
        let mut other = Applied::default();
        other.restore(1, block);
        assert_eq!(requests_of(&other), [130, 191]);
        assert_eq!(Block::from_bytes(&block.to_bytes()[1..]), None);
        assert_eq!(Block::from_bytes(&[block.to_bytes().as_slice(), &[0]].concat()), None);
        assert_eq!(Block::from_bytes(&[0; 16]), None);
        assert_eq!(Block::from_bytes(&[1; 16]), None, "no block begins there");
    }
}
