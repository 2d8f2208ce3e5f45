//! Events in the order of their time, and of their making where times are equal.
//!
//! A calendar: what comes within the next few milliseconds lies in buckets of a microsecond, and a
//! bucket is sorted when its turn comes; the rest waits in a heap. Almost all events of a rack are
//! near, so that an event costs a push and a share of a small sort, however many are waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netkv_roles::Nanos;

/// Nanoseconds of a bucket, as a power of two.
const WIDTH_BITS: u32 = 10;
/// Buckets: a power of two.
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

/// See the module.
#[derive(Debug)]
pub struct Queue<E> {
    buckets: Vec<Vec<Entry<E>>>,
    /// A bit for each bucket that is not empty.
    filled: Vec<u64>,
    /// Number (time over width) of the bucket whose turn it is. Its entries are in `current`.
    turn: u64,
    /// The last entry is the next event.
    current: Vec<Entry<E>>,
    later: BinaryHeap<Reverse<Entry<E>>>,
    number: u64,
    len: usize,
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: vec![0; (BUCKETS / 64) as usize],
            turn: 0,
            current: Vec::new(),
            later: BinaryHeap::new(),
            number: 0,
            len: 0,
        }
    }
}

impl<E: Copy> Queue<E> {
    /// Adds an event. One in the past comes next, behind others of its time.
    pub fn push(&mut self, at: Nanos, event: E) {
        self.number += 1;
        self.len += 1;
        let entry = Entry { key: Key { at, number: self.number }, event };
        let bucket = at >> WIDTH_BITS;
        if bucket <= self.turn {
            let place = self.current.partition_point(|other| other.key > entry.key);
            self.current.insert(place, entry);
        } else if bucket - self.turn < BUCKETS {
            self.file(bucket, entry);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// Time of the next event, if that is not after `until`.
    ///
    /// Nothing later is looked for: its bucket would be the current one from then on, and whatever
    /// is added before its time would have to be sorted in one by one.
    pub fn next(&mut self, until: Nanos) -> Option<Nanos> {
        if self.current.is_empty() {
            self.turn_over(until);
        }
        self.current.last().map(|entry| entry.key.at).filter(|at| *at <= until)
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        self.next(Nanos::MAX)?;
        let entry = self.current.pop()?;
        self.len -= 1;
        Some((entry.key.at, entry.event))
    }

    /// The event that comes `ahead` events later, as far as that is known already.
    pub fn peek(&self, ahead: usize) -> Option<&E> {
        let place = self.current.len().checked_sub(ahead + 1)?;
        Some(&self.current[place].event)
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    fn file(&mut self, bucket: u64, entry: Entry<E>) {
        let place = bucket & (BUCKETS - 1);
        self.buckets[place as usize].push(entry);
        self.filled[(place / 64) as usize] |= 1 << (place % 64);
    }

    /// Makes the next bucket that is not empty the current one, unless it begins after `until`.
    fn turn_over(&mut self, until: Nanos) {
        if self.len == 0 {
            return;
        }
        let near = self.next_filled();
        let far = self.later.peek().map(|Reverse(entry)| entry.key.at >> WIDTH_BITS);
        let Some(turn) = [near, far].into_iter().flatten().min() else { return };
        if turn > until >> WIDTH_BITS {
            return;
        }
        self.turn = turn;
        // What was far may be near now. It is filed even where it is due at once: behind it may
        // be more of the same bucket.
        while let Some(Reverse(entry)) = self.later.peek() {
            let bucket = entry.key.at >> WIDTH_BITS;
            if bucket - turn >= BUCKETS {
                break;
            }
            let entry = *entry;
            self.later.pop();
            self.file(bucket, entry);
        }
        let place = turn & (BUCKETS - 1);
        std::mem::swap(&mut self.current, &mut self.buckets[place as usize]);
        self.filled[(place / 64) as usize] &= !(1 << (place % 64));
        self.current.sort_unstable_by_key(|entry| Reverse(entry.key));
    }

    /// Number of the next filled bucket.
    fn next_filled(&self) -> Option<u64> {
        let start = (self.turn + 1) & (BUCKETS - 1);
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
                let place = word * 64 + u64::from(bits.trailing_zeros());
                let ahead = place.wrapping_sub(start) & (BUCKETS - 1);
                return Some(self.turn + 1 + ahead);
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
    fn events_come_in_the_order_of_their_time_and_of_their_making() {
        let mut random = Random::new(3, 0);
        for spread in [10, 3_000, 1_000_000, 40_000_000, 5_000_000_000] {
            let mut queue = Queue::default();
            let mut expected = std::collections::BTreeMap::new();
            let (mut now, mut made) = (0, 0u64);
            for _ in 0..20_000 {
                for _ in 0..random.below(3) {
                    // Some far ahead, some at the same moment.
                    let ahead = random.below(spread) * random.below(2);
                    queue.push(now + ahead, made);
                    expected.insert((now + ahead, made), ());
                    made += 1;
                }
                if random.below(5) < 4 {
                    let first = expected.pop_first().map(|(key, ())| key);
                    // Looking at what is still far changes nothing.
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
    fn a_timer_that_is_far_does_not_make_what_comes_before_it_slow() {
        let mut queue = Queue::default();
        queue.push(1_000_000_000, 0);
        assert_eq!(queue.next(500), None);
        for at in 0..10_000 {
            queue.push(20_000 + 100 * at, 1);
        }
        assert!(queue.current.is_empty(), "they are sorted by their buckets, not one by one");
        assert_eq!(queue.next(1_000_000), Some(20_000));
        assert!(queue.current.len() <= 11, "a microsecond of them");
    }
}
