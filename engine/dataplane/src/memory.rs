//! Zeroed memory for tables and registers.
//!
//! It starts on a cache line, and large pieces come straight from the system with the advice to
//! use huge pages: a lookup in a table of some megabytes would otherwise miss in the processor's
//! address translation as often as in its cache. Pages that nothing touches cost nothing.

use memmap2::{Advice, MmapMut};

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// From here on memory comes from the system.
const LARGE: usize = HUGE_PAGE / 2;
const WORD: usize = size_of::<u64>();

/// Words of zeroed memory that stay where they are.
#[derive(Debug)]
pub(crate) struct Memory {
    store: Store,
    /// Words in front of the first one that is used.
    first: usize,
    words: usize,
}

#[derive(Debug)]
enum Store {
    Heap(Vec<u64>),
    System(MmapMut),
}

impl Memory {
    pub(crate) fn new(words: usize) -> Self {
        let bytes = words * WORD;
        if bytes >= LARGE
            && let Ok(map) = MmapMut::map_anon(bytes.next_multiple_of(HUGE_PAGE) + HUGE_PAGE)
        {
            // Only advice: without huge pages it is slower and nothing else.
            let _ = map.advise(Advice::HugePage);
            let first = map.as_ptr().align_offset(HUGE_PAGE) / WORD;
            return Self { store: Store::System(map), first, words };
        }
        let store = vec![0; words + LINE / WORD];
        let first = store.as_ptr().align_offset(LINE);
        // A line starts within the words that were added.
        Self { first: first.min(LINE / WORD), store: Store::Heap(store), words }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        let all = match &self.store {
            Store::Heap(words) => words,
            Store::System(map) => bytemuck::cast_slice(map),
        };
        &all[self.first..self.first + self.words]
    }

    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        let all = match &mut self.store {
            Store::Heap(words) => words,
            Store::System(map) => bytemuck::cast_slice_mut(map),
        };
        &mut all[self.first..self.first + self.words]
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.words())
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.words_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_is_zero_and_starts_on_a_line() {
        for words in [0, 1, 7, 1000, LARGE / WORD, 3 * HUGE_PAGE / WORD + 5] {
            let mut memory = Memory::new(words);
            assert_eq!(memory.words().len(), words);
            assert!(memory.words().iter().all(|word| *word == 0));
            assert_eq!(memory.bytes().as_ptr() as usize % LINE, 0, "{words} words");
            memory.words_mut().fill(u64::MAX);
            assert!(memory.bytes().iter().all(|byte| *byte == 0xff));
        }
    }
}
