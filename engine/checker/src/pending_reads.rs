//! The invocations of the pending reads of all keys.

use std::collections::VecDeque;

/// Reads in a block.
const READS: usize = 64;

/// The invocations of all pending reads, to know the oldest one.
///
/// Reads are numbered in the order of their invocation, and 64 consecutive ones are a block. An
/// access takes the same time, however many reads are pending, and most of the memory of a block is
/// freed when its reads have ended: one long read keeps the memory of its own block.
#[derive(Debug, Default)]
pub(crate) struct PendingReads {
    /// The block of the oldest pending read, and all later ones.
    blocks: VecDeque<Block>,
    /// Number of blocks before `blocks`.
    before: u64,
    /// Number of reads.
    begun: u64,
    /// Unused memory of blocks.
    #[expect(clippy::vec_box, reason = "they move between here and the blocks without a copy")]
    spare: Vec<Box<[u64; READS]>>,
}

#[derive(Debug)]
struct Block {
    /// A bit for each pending read.
    pending: u64,
    /// The invocation of each read, while one is pending or the block is not full.
    times: Option<Box<[u64; READS]>>,
}

impl PendingReads {
    /// A read is invoked, later than all others. Returns its number.
    #[inline]
    pub(crate) fn begin(&mut self, time: u64) -> u64 {
        let number = self.begun;
        let at = number as usize % READS;
        self.begun += 1;
        if at == 0 || self.blocks.is_empty() {
            self.add_block(number);
        }
        if let Some(Block { pending, times: Some(times) }) = self.blocks.back_mut() {
            *pending |= 1 << at;
            times[at] = time;
        }
        number
    }

    #[cold]
    fn add_block(&mut self, number: u64) {
        if self.blocks.is_empty() {
            self.before = number / READS as u64;
        }
        let times = self.spare.pop().unwrap_or_else(|| Box::new([0; READS]));
        self.blocks.push_back(Block { pending: 0, times: Some(times) });
    }

    /// The read of this number has ended or is given up. A second call has no effect.
    #[inline]
    pub(crate) fn end(&mut self, number: u64) {
        let index = (number / READS as u64).wrapping_sub(self.before) as usize;
        let Some(block) = self.blocks.get_mut(index) else { return };
        block.pending &= !(1 << (number as usize % READS));
        if block.pending == 0 {
            self.free_blocks(index);
        }
    }

    /// Frees the memory of a block without pending reads, and removes such blocks from the front.
    #[cold]
    fn free_blocks(&mut self, index: usize) {
        let is_full = index + 1 < self.blocks.len() || self.begun.is_multiple_of(READS as u64);
        if is_full && let Some(times) = self.blocks[index].times.take() {
            self.spare.push(times);
        }
        while let Some(Block { pending: 0, times: None }) = self.blocks.front() {
            self.blocks.pop_front();
            self.before += 1;
        }
    }

    /// The invocation of the oldest pending read; the maximum if there is none.
    #[inline]
    pub(crate) fn oldest(&self) -> u64 {
        self.blocks.iter().find(|block| block.pending != 0).map_or(u64::MAX, |block| {
            let at = block.pending.trailing_zeros() as usize;
            block.times.as_ref().map_or(u64::MAX, |times| times[at])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_read_does_not_keep_the_memory_of_completed_reads() {
        let mut reading = PendingReads::default();
        assert_eq!(reading.oldest(), u64::MAX);
        let long = reading.begin(5);
        let mut pending = VecDeque::new();
        for time in 6..10_000 {
            pending.push_back(reading.begin(time));
            if pending.len() > 4 {
                reading.end(pending.pop_front().unwrap());
            }
            assert_eq!(reading.oldest(), 5);
            let kept = reading.blocks.iter().filter(|block| block.times.is_some()).count();
            assert!(kept + reading.spare.len() <= 4, "{kept}");
        }
        reading.end(long);
        assert_eq!(reading.oldest(), 9_996);
        assert!(reading.blocks.len() <= 2);
    }

    #[test]
    fn the_oldest_is_that_of_a_sorted_list() {
        let mut random = netkv_workload::Random::new(1, 0);
        for most in [1, 3, 100, 1000] {
            let (mut reading, mut sorted) = (PendingReads::default(), Vec::new());
            for time in 1..10_000 {
                if random.below(most) >= sorted.len() as u64 {
                    sorted.push((time, reading.begin(time)));
                } else {
                    let at = random.below(sorted.len() as u64) as usize;
                    let (_, number) = sorted.remove(at);
                    reading.end(number);
                    reading.end(number);
                }
                assert_eq!(reading.oldest(), sorted.first().map_or(u64::MAX, |(time, _)| *time));
            }
        }
    }
}
