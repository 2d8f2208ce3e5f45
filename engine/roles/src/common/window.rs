//! Deduplication window: the state of the recent requests of one sender.

use netkv_wire::is_newer;

use super::applied::Block;
use super::request_numbers::{WINDOW, is_forgotten};

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<T> {
    /// It has not arrived before.
    New,
    /// It was accepted and has not ended.
    UnderWay,
    /// It has ended with this result.
    Ended(T),
    /// It is older than the window; the sender cannot be waiting for it.
    Late,
}

/// The recent requests of one sender, in a ring.
#[derive(Debug)]
pub(crate) struct Window<T> {
    newest: u32,
    /// When the last request arrived, in seconds.
    last_arrival: u32,
    ring: Box<[Seen<T>]>,
}

impl<T: Copy> Window<T> {
    /// A window whose first request is `request`.
    pub(crate) fn new(request: u32, second: u32) -> Self {
        Self {
            newest: request,
            last_arrival: second,
            ring: vec![Seen::New; WINDOW as usize].into(),
        }
    }

    fn slot(&mut self, request: u32) -> &mut Seen<T> {
        &mut self.ring[(request % WINDOW) as usize]
    }

    /// The state of `request`, which arrives at `second`.
    pub(crate) fn look(&mut self, request: u32, second: u32) -> Seen<T> {
        let silent = is_forgotten(self.last_arrival, second);
        self.last_arrival = second;
        if silent {
            // The numbers may have wrapped meanwhile, so they cannot be compared.
            self.ring.fill(Seen::New);
            self.newest = request;
        } else if is_newer(request, self.newest) {
            let ahead = request.wrapping_sub(self.newest);
            if ahead >= WINDOW {
                self.ring.fill(Seen::New);
            } else {
                for number in 1..=ahead {
                    *self.slot(self.newest.wrapping_add(number)) = Seen::New;
                }
            }
            self.newest = request;
        } else if self.newest.wrapping_sub(request) >= WINDOW {
            return Seen::Late;
        }
        *self.slot(request)
    }

    /// Sets the state of `request`, unless the window has moved past it.
    pub(crate) fn set(&mut self, request: u32, seen: Seen<T>) {
        if self.newest.wrapping_sub(request) < WINDOW {
            *self.slot(request) = seen;
        }
    }
}

impl<T: Copy> Window<T> {
    /// The window of a sender whose applied writes are `blocks`, at `second`. The
    /// result of applied requests is `ok`; all others are new. `None` if all blocks are too old.
    pub(crate) fn restored(
        blocks: impl Iterator<Item = Block> + Clone,
        second: u32,
        ok: T,
    ) -> Option<Self> {
        // If the clock was set back, blocks may be in the future. They are then the latest.
        let latest = blocks.clone().map(|block| block.second).max()?.max(second);
        let blocks = blocks.filter(|block| !is_forgotten(block.second, latest));
        let last_arrival = blocks.clone().map(|block| block.second).max()?;
        let last = blocks.clone().filter_map(|block| block.requests().next_back());
        let newest = last.reduce(|a, b| if is_newer(b, a) { b } else { a })?;
        let mut window = Self::new(newest, last_arrival.min(second));
        for request in blocks.flat_map(Block::requests) {
            window.set(request, Seen::Ended(ok));
        }
        Some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_once_and_its_end_is_remembered() {
        let mut window = Window::new(10, 0);
        assert_eq!(window.look(10, 0), Seen::New);
        window.set(10, Seen::UnderWay);
        assert_eq!(window.look(12, 0), Seen::New);
        assert_eq!(window.look(11, 0), Seen::New, "overtaken, not a copy");
        assert_eq!(window.look(10, 0), Seen::UnderWay);
        window.set(10, Seen::Ended(3));
        assert_eq!(window.look(10, 0), Seen::Ended(3));
    }

    #[test]
    fn older_requests_than_the_window_are_late_across_the_wrap() {
        let start = u32::MAX - 5;
        let mut window = Window::new(start, 0);
        window.set(start, Seen::Ended(1));
        assert_eq!(window.look(start.wrapping_add(WINDOW - 1), 0), Seen::New);
        assert_eq!(window.look(start, 0), Seen::Ended(1));
        assert_eq!(
            window.look(start.wrapping_add(WINDOW), 0),
            Seen::New,
            "the slot was taken over"
        );
        assert_eq!(window.look(start, 0), Seen::Late);
        window.set(start, Seen::Ended(2));
        assert_eq!(window.look(start.wrapping_add(WINDOW), 0), Seen::New, "too late to be set");
        assert_eq!(window.look(start.wrapping_add(9 * WINDOW), 0), Seen::New);
        assert_eq!(window.look(start.wrapping_add(WINDOW), 0), Seen::Late);
    }
}
