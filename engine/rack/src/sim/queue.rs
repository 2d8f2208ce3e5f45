//! The event queue: events ordered by time, those of the same time by rank, and those of the same
//! rank by insertion.
//!
//! It is a calendar queue. Near events are in buckets, each of a width of time, and later ones in a
//! heap; a bucket is sorted when it becomes the current one. The width follows from the rate of the
//! events, so that a bucket has about [`USUAL`] of them. Almost all events of a rack are near, so
//! an event costs a push and a part of a small sort, however many are waiting.
//!
//! Rules
//! -----
//! 1. All events of the current bucket or before it are in `current`, ascending from `head` on.
//! 2. All events of the next `BUCKETS - 1` buckets are in their bucket, in the order of insertion;
//!    a stable sort then orders those of equal time and rank.
//! 3. All others are in the heap. If a bucket comes near, its events leave the heap before others
//!    are added to it (rule 2).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;

use netkv_roles::Nanos;

/// Number of buckets, a power of two.
const BUCKETS: u64 = 8192;
/// Width of a bucket at first: 2 to this power nanoseconds.
const WIDTH_BITS: u32 = 10;
/// The least and the largest width.
const MIN_WIDTH_BITS: u32 = 6;
const MAX_WIDTH_BITS: u32 = 24;
/// Usual number of events in a bucket, a power of two.
const USUAL: u64 = 16;
/// The width is chosen anew after this many events, a power of two.
const PERIOD: u64 = 4096;
/// A current bucket with more events is too wide.
const CROWDED: usize = 512;

/// An event that fits 8 bytes.
pub trait Packed {
    /// Its rank among packed events of the same time.
    fn rank(bits: u64) -> u32;

    /// The event as a number.
    fn pack(self) -> u64;
    /// The event of this number.
    fn unpack(bits: u64) -> Self;
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Nanos,
    /// The packed event.
    event: u64,
}

/// An event that is too far in the future for the buckets: its time, the number of events that were
/// added before it, and the packed event.
type Later = (Nanos, u64, u64);

/// An event queue: see the module.
#[derive(Debug)]
pub struct Queue<E> {
    width_bits: u32,
    buckets: Vec<Vec<Entry>>,
    /// A bit for each bucket that is not empty.
    filled: Vec<u64>,
    /// Number (time over width) of the current bucket.
    current_bucket: u64,
    current: Vec<Entry>,
    /// Index of the next event in `current`.
    head: usize,
    later: BinaryHeap<Reverse<Later>>,
    /// Number of events that were added.
    added: u64,
    len: usize,
    /// Number of events that were removed, and the time of the last one at the end of a period.
    removed: u64,
    period_began: Nanos,
    /// Whether the current bucket is another one than at the last call of [`Queue::take_turn`].
    turned: bool,
    events: PhantomData<E>,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self {
            width_bits: WIDTH_BITS,
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: vec![0; (BUCKETS / 64) as usize],
            current_bucket: 0,
            current: Vec::new(),
            head: 0,
            later: BinaryHeap::new(),
            added: 0,
            len: 0,
            removed: 0,
            period_began: 0,
            turned: false,
            events: PhantomData,
        }
    }
}

impl<E: Packed> Queue<E> {
    /// Adds an event, which may be in the past.
    #[inline(always)]
    pub fn push(&mut self, at: Nanos, event: E) {
        let event = event.pack();
        self.added += 1;
        self.len += 1;
        let bucket = at >> self.width_bits;
        if bucket.wrapping_sub(self.current_bucket + 1) < BUCKETS - 1 {
            self.add_to_bucket(bucket, Entry { at, event });
        } else {
            self.push_elsewhere(at, event);
        }
    }

    /// Adds an event that is not in one of the next buckets.
    #[cold]
    fn push_elsewhere(&mut self, at: Nanos, event: u64) {
        if at >> self.width_bits <= self.current_bucket {
            let left = &self.current[self.head..];
            let new = (at, E::rank(event));
            let index =
                self.head + left.partition_point(|other| (other.at, E::rank(other.event)) <= new);
            self.current.insert(index, Entry { at, event });
        } else {
            self.later.push(Reverse((at, self.added, event)));
        }
    }

    /// Time of the next event, if it is not after `until`.
    ///
    /// A bucket after `until` does not become the current one: events that are added before it
    /// would then be inserted into it one by one.
    #[inline]
    pub fn next(&mut self, until: Nanos) -> Option<Nanos> {
        if self.head == self.current.len() {
            self.advance(until);
        }
        self.current.get(self.head).map(|entry| entry.at).filter(|at| *at <= until)
    }

    /// Removes the next event and returns it with its time, if that is before `end`. See
    /// [`Queue::next`].
    #[inline]
    pub fn pop_before(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        if self.head == self.current.len() {
            self.advance(end.saturating_sub(1));
        }
        let Entry { at, event } = *self.current.get(self.head).filter(|entry| entry.at < end)?;
        self.head += 1;
        self.len -= 1;
        self.removed += 1;
        if self.removed.is_multiple_of(PERIOD) {
            self.choose_width(at);
        }
        Some((at, E::unpack(event)))
    }

    /// Whether another bucket has become the current one since the last call.
    #[inline]
    pub fn take_turn(&mut self) -> bool {
        std::mem::take(&mut self.turned)
    }

    /// The events in the first and in the second bucket after the current one, without empty ones,
    /// in no order. Starts loading the one after them into the processor's caches.
    #[inline]
    pub fn following(&self) -> [impl Iterator<Item = E>; 2] {
        let first = self.filled_after(self.current_bucket);
        let second = first.and_then(|first| self.filled_after(first));
        if let Some(third) = second.and_then(|second| self.filled_after(second)) {
            crate::sys::prefetch(self.bucket(third));
        }
        [first, second].map(|number| {
            let entries = number.map_or(&[][..], |number| self.bucket(number));
            entries.iter().map(|entry| E::unpack(entry.event))
        })
    }

    fn bucket(&self, number: u64) -> &[Entry] {
        &self.buckets[(number & (BUCKETS - 1)) as usize]
    }

    /// Number of events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn add_to_bucket(&mut self, bucket: u64, entry: Entry) {
        let index = bucket & (BUCKETS - 1);
        self.buckets[index as usize].push(entry);
        self.filled[(index / 64) as usize] |= 1 << (index % 64);
    }

    /// Makes the next bucket that is not empty the current one, unless it begins after `until`.
    fn advance(&mut self, until: Nanos) {
        if self.len == 0 {
            return;
        }
        let near = self.filled_after(self.current_bucket);
        let far = self.later.peek().map(|Reverse((at, ..))| at >> self.width_bits);
        let Some(next) = [near, far].into_iter().flatten().min() else { return };
        if next > until >> self.width_bits {
            return;
        }
        self.current_bucket = next;
        self.take_from_heap();
        self.load_current();
        if self.current.len() > CROWDED && self.width_bits > MIN_WIDTH_BITS {
            let narrower = (self.current.len() as u64 / USUAL).ilog2();
            let first = self.current[0].at;
            self.set_width(self.width_bits.saturating_sub(narrower).max(MIN_WIDTH_BITS), first);
        }
    }

    /// Moves the events of the current bucket to `current`.
    fn load_current(&mut self) {
        let index = self.current_bucket & (BUCKETS - 1);
        self.current.clear();
        self.head = 0;
        std::mem::swap(&mut self.current, &mut self.buckets[index as usize]);
        self.filled[(index / 64) as usize] &= !(1 << (index % 64));
        self.current
            .sort_by(|a, b| a.at.cmp(&b.at).then_with(|| E::rank(a.event).cmp(&E::rank(b.event))));
        self.turned = true;
    }

    /// Moves the events that are near now from the heap to their buckets, including those of the
    /// current one.
    fn take_from_heap(&mut self) {
        while let Some(&Reverse((at, _, event))) = self.later.peek() {
            let bucket = at >> self.width_bits;
            if bucket - self.current_bucket >= BUCKETS {
                break;
            }
            self.later.pop();
            self.add_to_bucket(bucket, Entry { at, event });
        }
    }

    /// Chooses the width at the end of a period, whose last event was at `at`.
    #[cold]
    fn choose_width(&mut self, at: Nanos) {
        let elapsed = at.saturating_sub(std::mem::replace(&mut self.period_began, at));
        let wanted = (elapsed / (PERIOD / USUAL)).max(1).ilog2();
        let wanted = wanted.clamp(MIN_WIDTH_BITS, MAX_WIDTH_BITS);
        // A factor of two is no reason to move all events.
        if wanted.abs_diff(self.width_bits) > 1 {
            self.set_width(wanted, at);
        }
    }

    /// Changes the width, and puts all events where they belong then. No event is before `now`.
    #[cold]
    fn set_width(&mut self, width_bits: u32, now: Nanos) {
        let mut entries = self.current.split_off(self.head);
        while let Some(bucket) = self.filled_after(self.current_bucket) {
            let index = bucket & (BUCKETS - 1);
            entries.append(&mut self.buckets[index as usize]);
            self.filled[(index / 64) as usize] &= !(1 << (index % 64));
        }
        self.width_bits = width_bits;
        self.current_bucket = now >> width_bits;
        // Those in the heap are later than all of these, so these need numbers among themselves
        // only.
        for (number, Entry { at, event }) in (0..).zip(entries) {
            let bucket = (at >> width_bits).max(self.current_bucket);
            if bucket - self.current_bucket < BUCKETS {
                self.add_to_bucket(bucket, Entry { at, event });
            } else {
                self.later.push(Reverse((at, number, event)));
            }
        }
        self.take_from_heap();
        self.load_current();
    }

    /// Number of the first bucket after `bucket` that is not empty; `bucket` is the current one or
    /// after it.
    fn filled_after(&self, bucket: u64) -> Option<u64> {
        let start = (bucket + 1) & (BUCKETS - 1);
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
                let found = bucket + 1 + ahead;
                // Behind the last bucket there is the first one again.
                return (found < self.current_bucket + BUCKETS).then_some(found);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::Random;

    /// Odd ones come first.
    impl Packed for u64 {
        fn rank(bits: u64) -> u32 {
            u32::from(bits.is_multiple_of(2))
        }

        fn pack(self) -> u64 {
            self
        }

        fn unpack(bits: u64) -> Self {
            bits
        }
    }

    #[test]
    fn events_are_ordered_by_time_then_by_rank_and_then_by_insertion() {
        let mut random = Random::new(3, 0);
        for spread in [10, 3_000, 1_000_000, 40_000_000, 5_000_000_000] {
            let mut queue = Queue::<u64>::default();
            let mut expected = std::collections::BTreeMap::new();
            let (mut now, mut added) = (0, 0u64);
            for _ in 0..20_000 {
                for _ in 0..random.below(3) {
                    // Some are far ahead, some are at the same time.
                    let ahead = random.below(spread) * random.below(2);
                    queue.push(now + ahead, added);
                    expected.insert((now + ahead, u64::rank(added), added), ());
                    added += 1;
                }
                if random.below(5) < 4 {
                    let first = expected.pop_first().map(|((at, _, event), ())| (at, event));
                    // A call with an earlier limit must not change the order.
                    let until = now + random.below(spread);
                    let at = first.map(|(at, _)| at);
                    assert_eq!(queue.next(until), at.filter(|at| *at <= until));
                    assert_eq!(queue.next(Nanos::MAX), at);
                    assert_eq!(queue.pop_before(Nanos::MAX), first);
                    now = first.map_or(now, |(at, _)| at);
                }
                assert_eq!(queue.len(), expected.len());
            }
            while let Some(((at, _, event), ())) = expected.pop_first() {
                assert_eq!(queue.pop_before(Nanos::MAX), Some((at, event)));
            }
            assert_eq!(queue.pop_before(Nanos::MAX), None);
        }
    }

    #[test]
    fn a_far_timer_does_not_slow_down_earlier_events() {
        let mut queue = Queue::<u64>::default();
        queue.push(1_000_000_000, 0);
        assert_eq!(queue.next(500), None);
        for at in 0..10_000 {
            queue.push(20_000 + 100 * at, 1);
        }
        assert!(queue.current.is_empty(), "the events must be in their buckets");
        assert_eq!(queue.next(1_000_000), Some(20_000));
        assert!(queue.current.len() <= 11, "the events of one bucket");
    }

    #[test]
    fn buckets_have_few_events_at_every_rate() {
        let mut queue = Queue::<u64>::default();
        let mut now = 0;
        for gap in [1_000, 30, 200_000, 1_000_000, 100] {
            (0..1000).for_each(|at| queue.push(now + at * gap, 0));
            let (mut buckets, mut events) = (0, 0);
            while events < 40_000 {
                buckets += u32::from(queue.head == queue.current.len());
                now = queue.pop_before(Nanos::MAX).unwrap().0;
                queue.push(now + 1000 * gap, 0);
                events += 1;
                assert!(events < 10_000 || queue.current.len() <= 8 * USUAL as usize);
            }
            assert!(buckets < 20_000, "{buckets} buckets for {events} events {gap} ns apart");
            while queue.pop_before(Nanos::MAX).is_some() {}
        }
    }

    #[test]
    fn a_crowd_at_one_time_keeps_its_order() {
        let mut queue = Queue::<u64>::default();
        for number in 0..5_000 {
            queue.push(1_000_000_000 + number % 3, number);
            queue.push(50, number);
        }
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop_before(Nanos::MAX)).collect();
        let keys = taken.iter().map(|(at, number)| (*at, u64::rank(*number), *number));
        assert!(keys.is_sorted(), "odd numbers come first, and ascend");
        assert_eq!(taken.len(), 10_000);
    }
}
