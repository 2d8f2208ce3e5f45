//! The processor of a host: cores that execute jobs in the order of their arrival.

use std::collections::VecDeque;

use netkv_roles::Nanos;

/// Cores with one bounded queue.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// When the first core is free, which gets the next job.
    first: Nanos,
    /// When each other core is free, ascending, and not before the first one.
    others: VecDeque<Nanos>,
    /// When the jobs that wait or execute are done. Jobs that are done are removed now and then.
    done: VecDeque<Nanos>,
    /// The time of the last call of [`Cpu::take`]: jobs that were done then do not count.
    last: Nanos,
    /// Number of jobs in `done` at which those that are done are removed. To do so for each job
    /// would access both ends of the queue each time.
    crowded: usize,
    /// Maximum number of waiting jobs.
    limit: usize,
    /// Factor of all costs; 1 is as configured.
    pub slow: f64,
}

/// Jobs are removed from [`Cpu::done`] when so many have been added.
const ADDED: usize = 32;

impl Cpu {
    /// Idle cores (at least 1) and a queue of at most `limit` waiting jobs.
    pub fn new(cores: usize, limit: usize) -> Self {
        Self {
            first: 0,
            others: VecDeque::from(vec![0; cores.saturating_sub(1)]),
            done: VecDeque::new(),
            last: 0,
            crowded: 0,
            limit,
            slow: 1.0,
        }
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        1 + self.others.len()
    }

    /// Adds a job of `cost` that arrives at `now`. Returns when it is done, or `None` if the queue
    /// is full. Jobs must be added in the order of their arrivals, which may be in the future.
    #[inline]
    pub fn take(&mut self, now: Nanos, cost: Nanos) -> Option<Nanos> {
        if now < self.last {
            // Jobs that were done at `last` do not come back. The newest was added after that.
            self.remove_done(1);
        }
        self.last = now;
        if self.done.len() >= self.crowded && self.is_full() {
            return None;
        }
        let done = self.hold(now, cost);
        self.done.push_back(done);
        Some(done)
    }

    /// Whether the queue is full, without the jobs that are done.
    fn is_full(&mut self) -> bool {
        self.remove_done(0);
        let most = self.cores() + self.limit;
        self.crowded = (self.done.len() + ADDED).min(most);
        self.done.len() >= most
    }

    /// Removes the jobs that are done at `last`, but leaves the newest `kept`.
    fn remove_done(&mut self, kept: usize) {
        while self.done.len() > kept && self.done.front().is_some_and(|done| *done <= self.last) {
            self.done.pop_front();
        }
    }

    /// Adds a job that the limit of the queue does not apply to. Returns when it is done.
    #[inline]
    pub fn hold(&mut self, now: Nanos, cost: Nanos) -> Nanos {
        let cost = if self.slow == 1.0 { cost } else { (cost as f64 * self.slow) as Nanos };
        let done = self.first.max(now) + cost;
        match self.others.front().copied() {
            Some(next) if next < done => {
                self.first = next;
                self.put_behind(done);
            }
            _ => self.first = done,
        }
        done
    }

    /// Puts the core that was the first one where it belongs: it is free at `done`.
    fn put_behind(&mut self, done: Nanos) {
        self.others.pop_front();
        // Times are similar, so this core is nearly always free after the others.
        if self.others.back().is_none_or(|last| *last <= done) {
            self.others.push_back(done);
        } else {
            let earlier = self.others.partition_point(|other| *other <= done);
            self.others.insert(earlier, done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_share_the_queue_and_a_full_one_refuses() {
        let mut cpu = Cpu::new(2, 1);
        assert_eq!(cpu.take(0, 100), Some(100));
        assert_eq!(cpu.take(0, 100), Some(100));
        assert_eq!(cpu.take(10, 100), Some(200), "behind the first");
        assert_eq!(cpu.take(20, 100), None);
        assert_eq!(cpu.take(110, 50), Some(160), "the second core is free since 100");
        cpu.slow = 3.0;
        assert_eq!(cpu.take(500, 50), Some(650));
        assert_eq!(cpu.hold(510, 10), 540, "the other core");
    }

    /// A processor that removes jobs that are done at each call.
    struct Eager {
        cores: Vec<Nanos>,
        done: VecDeque<Nanos>,
        limit: usize,
    }

    impl Eager {
        fn take(&mut self, now: Nanos, cost: Nanos) -> Option<Nanos> {
            while self.done.front().is_some_and(|done| *done <= now) {
                self.done.pop_front();
            }
            if self.done.len() >= self.cores.len() + self.limit {
                return None;
            }
            self.cores.sort_unstable();
            self.cores[0] = self.cores[0].max(now) + cost;
            self.done.push_back(self.cores[0]);
            Some(self.cores[0])
        }
    }

    #[test]
    fn jobs_that_are_done_never_count_whenever_they_are_removed() {
        let mut random = netkv_workload::Random::new(4, 0);
        for (cores, limit) in [(1, 0), (1, 3), (1, 100), (2, 1), (3, 40), (16, 200)] {
            let mut cpu = Cpu::new(cores, limit);
            let mut eager = Eager { cores: vec![0; cores], done: VecDeque::new(), limit };
            let mut now = 1000;
            for at in 0..20_000 {
                // Busy and idle times, and sometimes a job from before.
                now += random.below(if at / 500 % 2 == 0 { 20 } else { 250 }) / cores as u64;
                let at = now - if random.below(50) == 0 { random.below(500) } else { 0 };
                let cost = random.below(200);
                assert_eq!(cpu.take(at, cost), eager.take(at, cost));
            }
        }
    }
}
