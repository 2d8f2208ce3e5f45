//! The event queue: events ordered by time, and events of the same time by insertion.
//!
//! It is a calendar queue. Events of the next 8 ms are in buckets of about a microsecond, later
//! ones in a heap; a bucket is sorted when it becomes the current one. Almost all events of a rack
//! are near, so an event costs a push and a part of a small sort, however many are waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netkv_roles::Nanos;

/// Width of a bucket: 2 to this power nanoseconds.
const WIDTH_BITS: u32 = 10;
/// Number of buckets, a power of two.
const BUCKETS: u64 = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: Nanos,
    number: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    key: Key,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// An event queue: see the module.
#[derive(Debug)]
pub struct Queue<E> {
    buckets: Vec<Vec<Entry<E>>>,
    /// A bit for each bucket that is not empty.
    filled: Vec<u64>,
    /// Number (time over width) of the current bucket. Its entries are in `current`.
    current_bucket: u64,
    /// In descending order: the last entry is the next event.
    current: Vec<Entry<E>>,
    /// Events that are too far in the future for the buckets.
    later: BinaryHeap<Reverse<Entry<E>>>,
    /// Number of events that were added.
    number: u64,
    len: usize,
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: vec![0; (BUCKETS / 64) as usize],
            current_bucket: 0,
            current: Vec::new(),
            later: BinaryHeap::new(),
            number: 0,
            len: 0,
        }
    }
}

impl<E: Copy> Queue<E> {
    /// Adds an event, which may be in the past.
    pub fn push(&mut self, at: Nanos, event: E) {
        self.number += 1;
        self.len += 1;
        let entry = Entry { key: Key { at, number: self.number }, event };
        let bucket = at >> WIDTH_BITS;
        if bucket <= self.current_bucket {
            let index = self.current.partition_point(|other| other.key > entry.key);
            self.current.insert(index, entry);
        } else if bucket - self.current_bucket < BUCKETS {
            self.add_to_bucket(bucket, entry);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// Time of the next event, if it is not after `until`.
    ///
    /// A bucket after `until` does not become the current one: events that are added before it
    /// would then be inserted into it one by one.
    pub fn next(&mut self, until: Nanos) -> Option<Nanos> {
        if self.current.is_empty() {
            self.advance(until);
        }
        self.current.last().map(|entry| entry.key.at).filter(|at| *at <= until)
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        self.next(Nanos::MAX)?;
        let entry = self.current.pop()?;
        self.len -= 1;
        Some((entry.key.at, entry.event))
    }

    /// The event that is `ahead` events after the next one, if it is in the current bucket.
    pub fn peek(&self, ahead: usize) -> Option<&E> {
        let index = self.current.len().checked_sub(ahead + 1)?;
        Some(&self.current[index].event)
    }

    /// Number of events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    fn add_to_bucket(&mut self, bucket: u64, entry: Entry<E>) {
        let index = bucket & (BUCKETS - 1);
        self.buckets[index as usize].push(entry);
        self.filled[(index / 64) as usize] |= 1 << (index % 64);
    }

    /// Makes the next bucket that is not empty the current one, unless it begins after `until`.
    fn advance(&mut self, until: Nanos) {
        if self.len == 0 {
            return;
        }
        let near = self.next_filled();
        let far = self.later.peek().map(|Reverse(entry)| entry.key.at >> WIDTH_BITS);
        let Some(next) = [near, far].into_iter().flatten().min() else { return };
        if next > until >> WIDTH_BITS {
            return;
        }
        self.current_bucket = next;
        // Moves events from the heap that are near now, including those of the next bucket itself,
        // which may have others already.
        while let Some(Reverse(entry)) = self.later.peek() {
            let bucket = entry.key.at >> WIDTH_BITS;
            if bucket - next >= BUCKETS {
                break;
            }
            let entry = *entry;
            self.later.pop();
            self.add_to_bucket(bucket, entry);
        }
        let index = next & (BUCKETS - 1);
        std::mem::swap(&mut self.current, &mut self.buckets[index as usize]);
        self.filled[(index / 64) as usize] &= !(1 << (index % 64));
        self.current.sort_unstable_by_key(|entry| Reverse(entry.key));
    }

    /// Number of the next filled bucket.
    fn next_filled(&self) -> Option<u64> {
        let start = (self.current_bucket + 1) & (BUCKETS - 1);
        let words = self.filled.len() as u64;
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.filled[word as usize];
            if step == 0 {
                bits &= !0 << (start % 64);
            } else if step == words {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let index = word * 64 + u64::from(bits.trailing_zeros());
                let ahead = index.wrapping_sub(start) & (BUCKETS - 1);
                return Some(self.current_bucket + 1 + ahead);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::Random;

    #[test]
    fn events_are_ordered_by_time_and_then_by_insertion() {
        let mut random = Random::new(3, 0);
        for spread in [10, 3_000, 1_000_000, 40_000_000, 5_000_000_000] {
            let mut queue = Queue::default();
            let mut expected = std::collections::BTreeMap::new();
            let (mut now, mut added) = (0, 0u64);
            for _ in 0..20_000 {
                for _ in 0..random.below(3) {
                    // Some are far ahead, some are at the same time.
                    let ahead = random.below(spread) * random.below(2);
                    queue.push(now + ahead, added);
                    expected.insert((now + ahead, added), ());
                    added += 1;
                }
                if random.below(5) < 4 {
                    let first = expected.pop_first().map(|(key, ())| key);
                    // A call with an earlier limit must not change the order.
                    let until = now + random.below(spread);
                    let at = first.map(|(at, _)| at);
                    assert_eq!(queue.next(until), at.filter(|at| *at <= until));
                    assert_eq!(queue.next(Nanos::MAX), at);
                    assert_eq!(queue.pop(), first);
                    now = first.map_or(now, |(at, _)| at);
                }
                assert_eq!(queue.len(), expected.len());
            }
            while let Some((first, ())) = expected.pop_first() {
                assert_eq!(queue.pop(), Some(first));
            }
            assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn a_far_timer_does_not_slow_down_earlier_events() {
        let mut queue = Queue::default();
        queue.push(1_000_000_000, 0);
        assert_eq!(queue.next(500), None);
        for at in 0..10_000 {
            queue.push(20_000 + 100 * at, 1);
        }
        assert!(queue.current.is_empty(), "the events must be in their buckets");
        assert_eq!(queue.next(1_000_000), Some(20_000));
        assert!(queue.current.len() <= 11, "the events of one bucket");
    }
}
