//! The processor of a host: cores that work off jobs in the order in which they come.

use netkv_roles::Nanos;

/// Cores with one queue in front.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// When each core is free.
    cores: Vec<Nanos>,
    /// Jobs being worked on or waiting.
    jobs: usize,
    /// Most jobs that wait.
    limit: usize,
    /// How much longer everything takes; 1 is as configured.
    pub slow: f64,
}

impl Cpu {
    /// Idle cores (at least 1) and room for `limit` jobs that wait.
    pub fn new(cores: usize, limit: usize) -> Self {
        Self { cores: vec![0; cores.max(1)], jobs: 0, limit, slow: 1.0 }
    }

    /// A job of `cost` comes at `now`: when it is done, or none if too many wait.
    /// [`Cpu::done`] must be called then.
    pub fn take(&mut self, now: Nanos, cost: Nanos) -> Option<Nanos> {
        if self.jobs >= self.cores.len() + self.limit {
            return None;
        }
        self.jobs += 1;
        Some(self.hold(now, cost))
    }

    fn scaled(&self, cost: Nanos) -> Nanos {
        if self.slow == 1.0 { cost } else { (cost as f64 * self.slow) as Nanos }
    }

    /// Work of `cost` that nothing can refuse comes at `now`: when it is done.
    pub fn hold(&mut self, now: Nanos, cost: Nanos) -> Nanos {
        let cost = self.scaled(cost);
        let core = self.cores.iter_mut().min().expect("there is a core");
        *core = (*core).max(now) + cost;
        *core
    }

    /// A job that was taken is done.
    pub fn done(&mut self) {
        self.jobs -= 1;
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
        cpu.done();
        assert_eq!(cpu.take(110, 50), Some(160), "the second core is free since 100");
        cpu.slow = 3.0;
        cpu.done();
        assert_eq!(cpu.take(500, 50), Some(650));
        assert_eq!(cpu.hold(650, 10), 680, "the other core");
    }
}
