//! Server emulation: a server of a given speed with a queue of a given length.
//!
//! The papers imitate 128 slow servers on a few machines by rate-limited queues (NetCache, section
//! 7.1). A request takes `1 / rate` of service, one after the other; the reply leaves when the
//! service ends. A request that finds the queue full is dropped, as at a NIC.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// One server's queue of frames.
pub struct Station {
    /// Time that one request takes; `None`: no time at all.
    service: Option<Duration>,
    limit: usize,
    /// When the last accepted request will be done.
    free_at: Option<Instant>,
    queue: VecDeque<(Instant, Vec<u8>)>,
    /// Buffers of served frames, to be used again.
    spare: Vec<Vec<u8>>,
}

impl Station {
    /// `rate` in requests per second; without one, frames do not queue at all.
    pub fn new(rate: Option<f64>, limit: usize) -> Self {
        Self {
            service: rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            limit,
            free_at: None,
            queue: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// True if frames have to queue here.
    pub fn is_limited(&self) -> bool {
        self.service.is_some()
    }

    /// Queues a frame; false if there is no room.
    pub fn offer(&mut self, now: Instant, frame: &[u8]) -> bool {
        if self.queue.len() >= self.limit {
            return false;
        }
        let begin = self.free_at.map_or(now, |free_at| free_at.max(now));
        let done = begin + self.service.unwrap_or_default();
        self.free_at = Some(done);
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.queue.push_back((done, buffer));
        true
    }

    /// The next frame whose service has ended, if any; give it back to [`Station::recycle`].
    pub fn take_done(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (done, _) = self.queue.front()?;
        if *done > now {
            return None;
        }
        self.queue.pop_front().map(|(_, frame)| frame)
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// When the next service ends.
    pub fn deadline(&self) -> Option<Instant> {
        self.queue.front().map(|(done, _)| *done)
    }

    /// Requests that wait or are in service.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_works_at_its_rate_however_late_it_is_asked() {
        let start = Instant::now();
        let mut station = Station::new(Some(1000.0), 1000);
        for i in 0..100u8 {
            assert!(station.offer(start, &[i]));
        }
        assert_eq!(station.deadline(), Some(start + Duration::from_millis(1)));
        assert_eq!(station.take_done(start), None);
        let mut served = 0;
        // Asked at odd times only, it has still done 50 after 50 ms.
        for at in [7, 31, 50] {
            while let Some(frame) = station.take_done(start + Duration::from_millis(at)) {
                assert_eq!(frame, [served]);
                served += 1;
                station.recycle(frame);
            }
            assert_eq!(u64::from(served), at);
        }
    }

    #[test]
    fn an_idle_server_does_not_save_up_speed() {
        let start = Instant::now();
        let mut station = Station::new(Some(1000.0), 10);
        station.offer(start, &[1]);
        let later = start + Duration::from_secs(1);
        assert!(station.take_done(later).is_some());
        station.offer(later, &[2]);
        assert_eq!(station.deadline(), Some(later + Duration::from_millis(1)));
    }

    #[test]
    fn a_full_queue_refuses() {
        let now = Instant::now();
        let mut station = Station::new(Some(1.0), 2);
        assert!(station.offer(now, &[1]) && station.offer(now, &[2]));
        assert!(!station.offer(now, &[3]));
        assert_eq!(station.len(), 2);
    }
}
