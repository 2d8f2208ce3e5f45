//! Zeroed memory for tables and registers.
//!
//! The memory starts on a cache line. Large memory is mapped with the advice to use huge pages.
//! Without huge pages, a lookup in a table of several megabytes would miss the TLB as often as the
//! cache. Pages that are never accessed take no physical memory.

use memmap2::MmapMut;

/// Size of a cache line in bytes.
pub(crate) const LINE: usize = 64;
/// Size of a huge page in bytes.
const HUGE_PAGE: usize = 2 << 20;
/// Minimum size in bytes of memory that is mapped instead of allocated on the heap.
const LARGE: usize = HUGE_PAGE / 2;
const WORD: usize = size_of::<u64>();

/// Zeroed words at a fixed address.
#[derive(Debug)]
pub(crate) struct Memory {
    store: Store,
    /// Index of the first used word.
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
            // If the system has no huge pages, the memory is only slower.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            let first = map.as_ptr().align_offset(HUGE_PAGE) / WORD;
            return Self { store: Store::System(map), first, words };
        }
        // Whole lines, so that no other memory is in the last one: pipelines may have threads of
        // their own.
        let store = vec![0; words.next_multiple_of(LINE / WORD) + LINE / WORD];
        let first = store.as_ptr().align_offset(LINE);
        // The additional words contain the start of a cache line.
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
    fn memory_of_any_size_is_zero_and_line_aligned() {
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
