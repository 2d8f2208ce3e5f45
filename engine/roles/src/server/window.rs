//! Deduplication: what has become of the recent requests of one sender.

use netkv_wire::is_newer;

/// Request numbers that a server remembers for each sender. A sender must not use a number this
/// far above its oldest request under way; then whatever is older is a late copy.
pub const WINDOW: u32 = 4096;

/// What is known of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<T> {
    /// It has not come before.
    New,
    /// It has been taken up, and its end is open.
    UnderWay,
    /// It has ended like this.
    Ended(T),
    /// It is too old to tell; the sender cannot be waiting for it.
    Late,
}

/// The recent requests of one sender, in a ring.
#[derive(Debug)]
pub(crate) struct Window<T> {
    newest: u32,
    ring: Box<[Seen<T>]>,
}

impl<T: Copy> Window<T> {
    /// A window whose first request is `request`.
    pub(crate) fn new(request: u32) -> Self {
        Self { newest: request, ring: vec![Seen::New; WINDOW as usize].into() }
    }

    fn slot(&mut self, request: u32) -> &mut Seen<T> {
        &mut self.ring[(request % WINDOW) as usize]
    }

    /// What has become of `request`.
    pub(crate) fn look(&mut self, request: u32) -> Seen<T> {
        if is_newer(request, self.newest) {
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

    /// Sets what has become of `request`, unless the window has moved past it.
    pub(crate) fn set(&mut self, request: u32, seen: Seen<T>) {
        if self.newest.wrapping_sub(request) < WINDOW {
            *self.slot(request) = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_once_and_its_end_is_remembered() {
        let mut window = Window::new(10);
        assert_eq!(window.look(10), Seen::New);
        window.set(10, Seen::UnderWay);
        assert_eq!(window.look(12), Seen::New);
        assert_eq!(window.look(11), Seen::New, "overtaken, not a copy");
        assert_eq!(window.look(10), Seen::UnderWay);
        window.set(10, Seen::Ended(3));
        assert_eq!(window.look(10), Seen::Ended(3));
    }

    #[test]
    fn what_falls_out_of_the_window_is_late_also_across_the_wrap() {
        let start = u32::MAX - 5;
        let mut window = Window::new(start);
        window.set(start, Seen::Ended(1));
        assert_eq!(window.look(start.wrapping_add(WINDOW - 1)), Seen::New);
        assert_eq!(window.look(start), Seen::Ended(1));
        assert_eq!(window.look(start.wrapping_add(WINDOW)), Seen::New, "the slot was taken over");
        assert_eq!(window.look(start), Seen::Late);
        window.set(start, Seen::Ended(2));
        assert_eq!(window.look(start.wrapping_add(WINDOW)), Seen::New, "too late to be set");
        assert_eq!(window.look(start.wrapping_add(9 * WINDOW)), Seen::New);
        assert_eq!(window.look(start.wrapping_add(WINDOW)), Seen::Late);
    }
}
