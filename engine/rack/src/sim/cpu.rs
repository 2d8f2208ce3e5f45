//! The processor of a host: cores that execute jobs in the order of their arrival.

use std::collections::VecDeque;

use netkv_roles::Nanos;

/// Cores with one bounded queue.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// When each core is free, ascending: the first one gets the next job.
    cores: VecDeque<Nanos>,
    /// When the jobs that wait or execute are done. Jobs that are done are removed at the next call
    /// of [`Cpu::take`].
    done: VecDeque<Nanos>,
    /// Maximum number of waiting jobs.
    limit: usize,
    /// Factor of all costs; 1 is as configured.
    pub slow: f64,
}

impl Cpu {
    /// Idle cores (at least 1) and a queue of at most `limit` waiting jobs.
    pub fn new(cores: usize, limit: usize) -> Self {
        let cores = VecDeque::from(vec![0; cores.max(1)]);
        Self { cores, done: VecDeque::new(), limit, slow: 1.0 }
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Adds a job of `cost` that arrives at `now`. Returns when it is done, or `None` if the queue
    /// is full. Jobs must be added in the order of their arrivals, which may be in the future.
    #[inline]
    pub fn take(&mut self, now: Nanos, cost: Nanos) -> Option<Nanos> {
        while self.done.front().is_some_and(|done| *done <= now) {
            self.done.pop_front();
        }
        if self.done.len() >= self.cores.len() + self.limit {
            return None;
        }
        let done = self.hold(now, cost);
        self.done.push_back(done);
        Some(done)
    }

    /// Adds a job that the limit of the queue does not apply to. Returns when it is done.
    #[inline]
    pub fn hold(&mut self, now: Nanos, cost: Nanos) -> Nanos {
        let cost = if self.slow == 1.0 { cost } else { (cost as f64 * self.slow) as Nanos };
        let free = self.cores.pop_front().expect("there is a core");
        let done = free.max(now) + cost;
        // Times are similar, so this core is nearly always free after the others.
        if self.cores.back().is_none_or(|last| *last <= done) {
            self.cores.push_back(done);
        } else {
            let earlier = self.cores.partition_point(|other| *other <= done);
            self.cores.insert(earlier, done);
        }
        done
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
}
