//! The server's own requests to switch and controller, which are sent again until they are
//! answered.

use netkv_wire::{FrameView, Ip, Key, Message, Op, sender_of_server, server_ip};
use rustc_hash::FxHashMap;

use crate::common::timers::RoundTrips;
use crate::{Backoff, Nanos};

/// A pending request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) op: Op,
    pub(crate) key: Key,
    /// Whether it is about the copy in the upper layer.
    pub(crate) upper: bool,
    /// The generation that it is about, if its protocol has generations.
    pub(crate) generation: u32,
    attempts: u32,
    /// When it was sent last.
    sent: Nanos,
    /// The wait after its first transmission.
    first_wait: Nanos,
}

impl Pending {
    /// Number of transmissions.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// The pending requests. The first wait for an answer follows the round trips: a copy of an
/// INVALIDATE that is sent too early invalidates what the UPDATE after the first one fills.
#[derive(Debug)]
pub(crate) struct PendingRequests {
    server: u16,
    trips: RoundTrips,
    next: u32,
    open: FxHashMap<u32, Pending>,
}

impl PendingRequests {
    pub(crate) fn new(server: u16, first_request: u32, retry: Backoff) -> Self {
        let trips = RoundTrips::new(retry);
        Self { server, trips, next: first_request, open: FxHashMap::default() }
    }

    /// Opens a request; returns its number, and when it is to be sent again.
    pub(crate) fn open(
        &mut self,
        now: Nanos,
        op: Op,
        upper: bool,
        key: &Key,
        generation: u32,
    ) -> (u32, Nanos) {
        let request = self.next;
        self.next = request.wrapping_add(1);
        let first_wait = self.trips.first();
        let pending =
            Pending { op, key: *key, upper, generation, attempts: 1, sent: now, first_wait };
        self.open.insert(request, pending);
        (request, now + first_wait)
    }

    /// The request with this number, if it is open.
    pub(crate) fn get(&self, request: u32) -> Option<&Pending> {
        self.open.get(&request)
    }

    /// Counts another transmission; returns when the next one is due.
    pub(crate) fn again(&mut self, now: Nanos, request: u32) -> Option<Nanos> {
        let pending = self.open.get_mut(&request)?;
        pending.attempts += 1;
        pending.sent = now;
        Some(now + self.trips.wait(pending.first_wait, pending.attempts))
    }

    /// Whether `frame` answers an open request with this operation.
    pub(crate) fn is_answer(&mut self, now: Nanos, frame: &FrameView<'_>, op: Op) -> bool {
        let answers = |pending: &Pending| pending.op == op && pending.key == frame.key();
        let pending = self.open.get(&frame.request()).filter(|it| answers(it));
        let Some(pending) = pending.filter(|_| frame.sender() == sender_of_server(self.server))
        else {
            return false;
        };
        self.trips.answered(pending.first_wait, pending.attempts, now - pending.sent);
        true
    }

    /// The request has ended.
    pub(crate) fn close(&mut self, request: u32) {
        self.open.remove(&request);
    }

    /// The frame of a request, with the fields that all of them have.
    pub(crate) fn message(&self, request: u32, pending: &Pending, to: Ip) -> Message<'static> {
        let (source, sender) = (server_ip(self.server), sender_of_server(self.server));
        let message = Message::request(source, to, pending.op, sender, request, pending.key);
        Message { upper: pending.upper, ..message }
    }
}

#[cfg(test)]
mod tests {
    use netkv_wire::{Status, write_frame};

    use super::*;
    use crate::MILLISECOND;

    #[test]
    fn slow_answers_are_waited_for() {
        let mut pending = PendingRequests::new(
            3,
            1,
            Backoff { initial: 5 * MILLISECOND, cap: 200 * MILLISECOND },
        );
        let (mut now, key, mut copies) = (0, Key::default(), vec![]);
        for _ in 0..60 {
            let (request, mut due) = pending.open(now, Op::Invalidate, false, &key, 0);
            let answered = now + 20 * MILLISECOND;
            while due < answered {
                due = pending.again(due, request).expect("it is open");
                copies.push(request);
            }
            let message = pending.message(request, pending.get(request).unwrap(), server_ip(0));
            let (mut sent, mut reply) = (vec![], vec![]);
            write_frame(&mut sent, &message);
            write_frame(&mut reply, &FrameView::parse(&sent).unwrap().reply(Status::Ok));
            let reply = FrameView::parse(&reply).unwrap();
            assert!(pending.is_answer(answered, &reply, Op::Invalidate));
            pending.close(request);
            now = answered;
        }
        assert!(copies.contains(&1), "the first waits are short");
        assert!(copies.iter().all(|request| *request < 6), "{copies:?}");
    }
}
