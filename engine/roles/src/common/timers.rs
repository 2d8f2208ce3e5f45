//! Timers that are never cancelled: when one is due, its owner checks whether it still matters.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::Nanos;

/// Maximum number of queues of [`Timers`].
const MAX_QUEUES: usize = 8;

/// A priority queue of events by the time at which they are due.
///
/// The timers of an owner have a few different waits, and those of one wait are set in the order in
/// which they are due. So nearly all of them can be in a few queues, each in that order, where a
/// timer costs about the same however many there are. The others are in a heap.
#[derive(Debug)]
pub(crate) struct Timers<T: Ord> {
    /// Each is ascending, and none is empty.
    queues: Vec<VecDeque<(Nanos, T)>>,
    heap: BinaryHeap<Reverse<(Nanos, T)>>,
    /// When the first timer is due; `Nanos::MAX` if there is none.
    next: Nanos,
    /// Memory of queues that became empty.
    spare: Vec<VecDeque<(Nanos, T)>>,
}

impl<T: Ord> Timers<T> {
    pub(crate) fn new() -> Self {
        Self { queues: Vec::new(), heap: BinaryHeap::new(), next: Nanos::MAX, spare: Vec::new() }
    }

    pub(crate) fn set(&mut self, at: Nanos, event: T) {
        self.next = self.next.min(at);
        let entry = (at, event);
        let before = self.queues.iter_mut().filter(|queue| queue.back() <= Some(&entry));
        // The queue with the latest last timer, so that the others remain for earlier ones.
        if let Some(queue) = before.max_by(|a, b| a.back().cmp(&b.back())) {
            queue.push_back(entry);
        } else if self.queues.len() < MAX_QUEUES {
            let mut queue = self.spare.pop().unwrap_or_default();
            queue.push_back(entry);
            self.queues.push(queue);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// If there are more than `enough` timers, drops those that do not matter any more, as far as
    /// they are the first ones of a queue. So an owner that calls this for each timer that it sets
    /// has few more than `enough`, however long the waits are. Many are dropped at once: their
    /// owner looks at scattered memory for each, which the processor does for several at a time.
    pub(crate) fn discard(&mut self, enough: usize, matters: impl Fn(Nanos, &T) -> bool) {
        if self.queues.iter().map(VecDeque::len).sum::<usize>() <= enough {
            return;
        }
        for queue in &mut self.queues {
            // Queues are not empty.
            while queue.len() > 1
                && let Some((at, event)) = queue.front()
                && !matters(*at, event)
            {
                queue.pop_front();
            }
        }
        self.find_next();
    }

    /// When the first timer is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        Some(self.next).filter(|at| *at != Nanos::MAX)
    }

    fn find_next(&mut self) {
        let queued = self.queues.iter().filter_map(|queue| queue.front());
        let other = self.heap.peek().map(|Reverse(entry)| entry);
        self.next = queued.chain(other).map(|(at, _)| *at).min().unwrap_or(Nanos::MAX);
    }

    /// Takes the first timer that is due at `now`, with its time.
    #[inline]
    pub(crate) fn take(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next > now {
            return None;
        }
        let taken = self.take_first(now);
        self.find_next();
        taken
    }

    fn take_first(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        let fronts = self.queues.iter().map(VecDeque::front).enumerate();
        let first = fronts.min_by(|a, b| a.1.cmp(&b.1)).and_then(|(at, it)| Some((at, it?)));
        if let Some(Reverse(other)) = self.heap.peek()
            && first.is_none_or(|(_, first)| other < first)
        {
            return if other.0 > now { None } else { self.heap.pop().map(|it| it.0) };
        }
        let (index, (at, _)) = first?;
        if *at > now {
            return None;
        }
        let taken = self.queues[index].pop_front();
        if self.queues[index].is_empty() {
            self.spare.push(self.queues.swap_remove(index));
        }
        taken
    }
}

/// Capped exponential back-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Wait before the first retry.
    pub initial: Nanos,
    /// Longest wait.
    pub cap: Nanos,
}

impl Backoff {
    /// Wait after `attempts` tries (at least 1) without an answer: it doubles up to the cap.
    pub fn wait(&self, attempts: u32) -> Nanos {
        let factor = 1u64 << attempts.saturating_sub(1).min(32);
        self.initial.saturating_mul(factor).min(self.cap)
    }
}

/// Retransmission time-outs: a back-off whose first wait adapts to the response times.
///
/// A retry that is sent before an answer can arrive is a needless copy. If most requests are sent
/// again, copies displace requests, and no answer arrives in time. So the first wait rises until
/// most requests are answered within it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    backoff: Backoff,
    /// About twice the median response time, but at least half of the back-off's first wait, so
    /// that a few slow answers do not change the time-outs.
    estimate: Nanos,
}

impl Timeouts {
    /// Waits as `backoff` does while answers arrive within its first wait.
    pub(crate) const fn new(backoff: Backoff) -> Self {
        Self { backoff, estimate: backoff.initial / 2 }
    }

    /// First wait of a request.
    fn first(&self) -> Nanos {
        self.estimate.max(self.backoff.initial)
    }

    /// Wait after `attempts` transmissions (at least 1) without an answer.
    pub(crate) fn wait(&self, attempts: u32) -> Nanos {
        let initial = self.first();
        Backoff { initial, cap: self.backoff.cap.max(initial) }.wait(attempts)
    }

    /// A request was answered, `elapsed` after the last of its `attempts` transmissions.
    ///
    /// If the request was retransmitted, it is unknown which copy was answered. An answer soon
    /// after the last copy is taken for its answer, as after a loss; otherwise the retry was early.
    pub(crate) fn answered(&mut self, attempts: u32, elapsed: Nanos) {
        let first = self.first();
        let soon = if attempts > 1 { first / 8 } else { first / 2 };
        // Equal steps up and down lead to the median, whatever the largest times are.
        let step = first / 8;
        self.estimate = if elapsed > soon {
            self.estimate.saturating_add(step)
        } else {
            self.estimate.saturating_sub(step).max(self.backoff.initial / 2)
        };
    }
}

/// Retransmission time-outs for answers that take about the same time each, those of a switch: from
/// the round trips, as TCP's (RFC 6298), but at least twice the round trip.
///
/// A request that was sent again gives no round trip (Karn's rule): it is unknown which copy was
/// answered. Instead the first wait doubles, until a request is answered within it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrips {
    backoff: Backoff,
    /// First wait of the next request.
    first: Nanos,
    /// The smoothed round trip and its smoothed deviation, once there is a round trip.
    smoothed: Option<(Nanos, Nanos)>,
}

impl RoundTrips {
    /// Waits as `backoff` does while answers arrive within half of its first wait.
    pub(crate) const fn new(backoff: Backoff) -> Self {
        Self { backoff, first: backoff.initial, smoothed: None }
    }

    /// First wait of a request that is sent now.
    pub(crate) fn first(&self) -> Nanos {
        self.first
    }

    /// Wait after `attempts` transmissions (at least 1) of a request whose first wait was `first`.
    pub(crate) fn wait(&self, first: Nanos, attempts: u32) -> Nanos {
        Backoff { initial: first, cap: self.backoff.cap.max(first) }.wait(attempts)
    }

    /// A request whose first wait was `first` was answered, `elapsed` after the last of its
    /// `attempts` transmissions.
    pub(crate) fn answered(&mut self, first: Nanos, attempts: u32, elapsed: Nanos) {
        if attempts > 1 {
            // Requests that were sent at the same time count once.
            if first >= self.first {
                self.first = first.saturating_mul(2).min(self.backoff.cap.max(self.first));
            }
            return;
        }
        let (trip, deviation) = match self.smoothed {
            None => (elapsed, elapsed / 2),
            Some((trip, deviation)) => {
                let error = trip.abs_diff(elapsed);
                ((trip / 8) * 7 + elapsed / 8, (deviation / 4) * 3 + error / 4)
            }
        };
        self.smoothed = Some((trip, deviation));
        self.first = (trip + 4 * deviation).max(2 * trip).max(self.backoff.initial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of copies of requests that are answered after these times, one after another.
    fn copies_of(trips: &mut RoundTrips, answers: &[Nanos]) -> Vec<u32> {
        let ask = |answer: &Nanos| {
            let (first, mut attempts, mut last) = (trips.first(), 1, 0);
            while last + trips.wait(first, attempts) < *answer {
                last += trips.wait(first, attempts);
                attempts += 1;
            }
            trips.answered(first, attempts, *answer - last);
            attempts
        };
        answers.iter().map(ask).collect()
    }

    #[test]
    fn round_trips_are_learned_and_forgotten() {
        let mut trips = RoundTrips::new(Backoff { initial: 1000, cap: 100_000 });
        assert_eq!(copies_of(&mut trips, &[9_000; 6]), [4, 3, 2, 2, 1, 1]);
        let varied: Vec<Nanos> = (0..90).map(|at| 8_000 + at * 7_919 % 3_000).collect();
        assert!(copies_of(&mut trips, &varied).iter().all(|copies| *copies == 1));
        assert_eq!(copies_of(&mut trips, &[100; 60]), [1; 60]);
        assert_eq!(trips.first(), 1000);
    }

    #[test]
    fn lost_copies_double_the_wait_once_and_no_more_than_to_the_cap() {
        let mut trips = RoundTrips::new(Backoff { initial: 1000, cap: 6000 });
        (0..9).for_each(|_| trips.answered(1000, 2, 50));
        assert_eq!(trips.first(), 2000);
        (0..9).for_each(|_| trips.answered(trips.first(), 2, 50));
        assert_eq!(trips.first(), 6000);
        trips.answered(6000, 1, 50);
        assert_eq!([1, 2, 3, 4].map(|it| trips.wait(1000, it)), [1000, 2000, 4000, 6000]);
        assert_eq!(trips.first(), 1000);
    }

    /// Number of copies that are sent of a request that is answered `answer` after its first copy.
    fn ask(timeouts: &mut Timeouts, answer: Nanos) -> u32 {
        let (mut attempts, mut last) = (1, 0);
        while last + timeouts.wait(attempts) < answer {
            last += timeouts.wait(attempts);
            attempts += 1;
        }
        timeouts.answered(attempts, answer - last);
        attempts
    }

    #[test]
    fn first_wait_adapts_to_slow_answers_and_back() {
        let mut timeouts = Timeouts::new(Backoff { initial: 1000, cap: 8000 });
        assert_eq!(ask(&mut timeouts, 100_000), 15);
        // About 100 ms with some variation.
        let copies: Vec<u32> =
            (0..200).map(|at| ask(&mut timeouts, 90_000 + at * 7_919 % 20_000)).collect();
        assert!(copies[100..].iter().all(|copies| *copies <= 2), "{copies:?}");
        (0..60).for_each(|_| _ = ask(&mut timeouts, 200));
        assert_eq!(timeouts.wait(1), 1000);
    }

    #[test]
    fn losses_do_not_raise_the_first_wait() {
        let mut timeouts = Timeouts::new(Backoff { initial: 1000, cap: 8000 });
        // Many are lost once or twice, and an outage is over; answers take 50, some ten times that.
        for (at, attempts) in [1, 2, 3, 9].repeat(30).into_iter().enumerate() {
            timeouts.answered(attempts, if at % 9 < 2 { 500 } else { 50 });
        }
        assert_eq!([1, 2, 3, 4, 5].map(|it| timeouts.wait(it)), [1000, 2000, 4000, 8000, 8000]);
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff { initial: 10, cap: 65 };
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(|attempts| backoff.wait(attempts)),
            [10, 20, 40, 65, 65, 65]
        );
    }

    #[test]
    fn timers_come_in_order_and_not_early() {
        let mut timers = Timers::new();
        timers.set(5, 'b');
        timers.set(3, 'a');
        assert_eq!(timers.next(), Some(3));
        assert_eq!(timers.take(2), None);
        assert_eq!(timers.take(9), Some((3, 'a')));
        assert_eq!(timers.take(9), Some((5, 'b')));
        assert_eq!(timers.take(9), None);
    }

    #[test]
    fn timers_that_do_not_matter_are_dropped() {
        let mut timers = Timers::new();
        for now in 0..10_000 {
            // Each matters for 10 ns, but is due after 1,000; of one in 1,000 after 2,500.
            let until = now + if now % 1_000 == 0 { 2_500 } else { 10 };
            timers.discard(20, |_, until| *until > now);
            timers.set(now + 5_000, until);
            assert!(timers.queues.iter().map(VecDeque::len).sum::<usize>() <= 2_521);
        }
        let left: Vec<_> = std::iter::from_fn(|| timers.take(Nanos::MAX)).collect();
        assert_eq!(left.iter().filter(|(_, until)| *until > 9_999).count(), 12);
        assert!(left.is_sorted());
    }

    #[test]
    fn timers_come_in_the_order_of_a_sorted_list() {
        let mut random = netkv_workload::Random::new(3, 0);
        let (mut timers, mut sorted) = (Timers::new(), Vec::new());
        for now in 0..5_000 {
            // Most have the same wait, a few others another one, and some any.
            let wait = match random.below(8) {
                0 => random.below(900),
                1 => 100,
                _ => 500,
            };
            let event = random.below(3);
            timers.set(now + wait, event);
            sorted.push((now + wait, event));
            sorted.sort_unstable();
            assert_eq!(timers.next(), sorted.first().map(|(at, _)| *at));
            while sorted.first().is_some_and(|(at, _)| *at <= now) {
                assert_eq!(timers.take(now), Some(sorted.remove(0)));
            }
            assert_eq!(timers.take(now), None);
        }
        assert!(timers.heap.len() < 100, "few of {} are in the heap", sorted.len());
    }
}
