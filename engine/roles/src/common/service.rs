//! Server emulation: requests are served one after the other at a rate, as the papers limit their
//! servers. Requests that do not fit into the queue are dropped.

use std::collections::VecDeque;

use crate::{Nanos, SECOND};

/// A queue with one server that takes a fixed time for each frame.
#[derive(Debug)]
pub(crate) struct Service {
    /// Time for one request.
    interval: Nanos,
    limit: usize,
    /// When the request being served is finished.
    free_at: Nanos,
    /// Frames with the time of their arrival.
    waiting: VecDeque<(Nanos, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

/// What to do with a frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Serve it at once.
    Serve,
    /// It waits in the queue.
    Queued,
    /// The queue is full.
    Dropped,
}

impl Service {
    /// `rate` requests a second (more than 0), at most `limit` waiting.
    pub(crate) fn new(rate: f64, limit: usize) -> Self {
        Self {
            interval: interval(rate),
            limit,
            free_at: 0,
            waiting: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// From the next request on `rate` requests a second; the one being served takes as long as it
    /// would have.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.interval = interval(rate);
    }

    /// A frame arrives at `now`.
    pub(crate) fn arrive(&mut self, now: Nanos, frame: &[u8]) -> Arrival {
        if self.waiting.is_empty() && self.free_at <= now {
            self.free_at = now.saturating_add(self.interval);
            return Arrival::Serve;
        }
        if self.waiting.len() >= self.limit {
            return Arrival::Dropped;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.waiting.push_back((now, buffer));
        Arrival::Queued
    }

    /// Takes the next frame to be served at `now`, and when it arrived. Queued frames are served at
    /// the full rate, even if calls come late.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<(Nanos, Vec<u8>)> {
        if self.free_at > now {
            return None;
        }
        let waited = self.waiting.pop_front()?;
        self.free_at = self.free_at.saturating_add(self.interval);
        Some(waited)
    }

    /// Takes the memory of a frame for reuse.
    pub(crate) fn recycle(&mut self, frame: Vec<u8>) {
        self.spare.push(frame);
    }

    /// When the next queued frame is served.
    pub(crate) fn next(&self) -> Option<Nanos> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }
}

fn interval(rate: f64) -> Nanos {
    (SECOND as f64 / rate) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_server_serves_exactly_its_rate_in_order() {
        let mut service = Service::new(1000.0, 50);
        let mut served = Vec::new();
        let mut dropped = 0;
        for arrival in 0..10_000u64 {
            let now = arrival * 200_000;
            // Five times the rate arrives, and the queue is served every 7 ms only.
            match service.arrive(now, &arrival.to_be_bytes()) {
                Arrival::Serve => served.push(arrival),
                Arrival::Queued => {}
                Arrival::Dropped => dropped += 1,
            }
            if arrival % 35 == 0 {
                while let Some((arrived, frame)) = service.take(now) {
                    assert!(arrived < now, "it has waited");
                    served.push(u64::from_be_bytes(frame[..].try_into().unwrap()));
                    service.recycle(frame);
                }
            }
        }
        assert!((1990..=2001).contains(&served.len()), "{} served in 2 s", served.len());
        assert!(served.is_sorted());
        assert!(served.len() + dropped + 50 >= 10_000);
    }

    #[test]
    fn a_new_rate_applies_from_the_next_request_on() {
        let mut service = Service::new(1000.0, 10);
        assert_eq!(service.arrive(0, b"a"), Arrival::Serve);
        service.set_rate(100.0);
        (0..3).for_each(|_| assert_eq!(service.arrive(0, b"b"), Arrival::Queued));
        assert!(service.take(1_000_000).is_some(), "the first one takes as long as it would have");
        assert_eq!(service.next(), Some(11_000_000));
        service.set_rate(1000.0);
        assert!(service.take(11_000_000).is_some());
        assert_eq!(service.next(), Some(12_000_000));
    }

    #[test]
    fn an_idle_server_serves_at_once_and_accumulates_no_credit() {
        let mut service = Service::new(1000.0, 10);
        assert_eq!(service.arrive(5 * SECOND, b"a"), Arrival::Serve);
        assert_eq!(service.arrive(5 * SECOND, b"b"), Arrival::Queued);
        assert_eq!(service.take(5 * SECOND), None);
        assert_eq!(service.next(), Some(5 * SECOND + 1_000_000));
        assert!(service.take(5 * SECOND + 1_000_000).is_some());
    }
}
