//! Messages between a client process and the controller of a write-back cache. The process sends
//! HELLO (register) and BYE (deregister) until they are answered. The controller sends RELEASE,
//! COLLECT and RECOVERED: each copy of them is answered, but takes effect once. All of them use the
//! address of the first client of the process.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Message, Op, Sequence, Stamp, Status, client_ip,
    is_newer,
};

use super::collected::Collected;
use super::preserved::Records;
use super::release::{ReleaseList, Taken};
use crate::{Actions, Backoff, MILLISECOND, Nanos, SECOND};

/// From an answered HELLO to the next.
const HELLO_EVERY: Nanos = 60 * SECOND;
/// A BYE without an answer is repeated for this long.
const BYE_TIMEOUT: Nanos = 2 * SECOND;
/// Longest first wait before HELLO or BYE is sent again, even if that of requests is longer:
/// without an answer the switch's cache cannot be used.
const MAX_FIRST_WAIT: Nanos = 50 * MILLISECOND;
/// Longest later wait.
const MAX_WAIT: Nanos = SECOND;

/// The state of the registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A HELLO or BYE is pending; it is sent until this time.
    Pending(Op, Nanos),
    /// The controller knows the process.
    Registered,
    /// BYE was answered or has timed out.
    Left,
}

/// The registration of the process with the controller.
#[derive(Debug)]
pub(super) struct Registration {
    client: u16,
    retry: Backoff,
    state: State,
    /// Number of the current HELLO or BYE. These numbers are separate from those of requests, so
    /// that a pending HELLO or BYE does not block the window of the first client.
    number: u32,
    attempts: u32,
    /// When there is something to send.
    due: Nanos,
    /// Whether a HELLO was ever answered.
    registered: bool,
    /// The newest known incarnation of the switch; 0 for none.
    incarnation: u32,
    /// The newest incarnation for which records are or were collected; 0 for none.
    collected: u32,
    collection: Option<Collected>,
    list: ReleaseList,
}

impl Registration {
    /// A process that sends HELLO at the first poll.
    pub(super) fn new(client: u16, first_request: u32, retry: Backoff) -> Self {
        Self {
            client,
            retry: Backoff { initial: retry.initial.min(MAX_FIRST_WAIT), cap: MAX_WAIT },
            state: State::Pending(Op::Hello, Nanos::MAX),
            number: first_request,
            attempts: 0,
            due: 0,
            registered: false,
            incarnation: 0,
            collected: 0,
            collection: None,
            list: ReleaseList::default(),
        }
    }

    /// The process has crashed, and another one starts in its place.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.client, self.number.wrapping_add(1), self.retry);
    }

    /// The incarnation to stamp new requests with.
    pub(super) fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Whether the switch has lost its records of this incarnation: records are or were collected
    /// for a later one. When the incarnation of a running switch is raised, records are not lost.
    pub(super) fn is_past(&self, incarnation: u32) -> bool {
        self.collected != 0 && is_newer(self.collected, incarnation)
    }

    /// Whether the controller knows the process, and so would collect its records.
    pub(super) fn is_registered(&self) -> bool {
        self.registered
    }

    /// Whether BYE was answered or has timed out.
    pub(super) fn has_left(&self) -> bool {
        self.state == State::Left
    }

    /// Sends HELLO, if it has sent BYE before.
    pub(super) fn register_again(&mut self, now: Nanos) {
        if matches!(self.state, State::Left | State::Pending(Op::Bye, _)) {
            self.open(now, Op::Hello, Nanos::MAX);
        }
    }

    /// Sends BYE, unless it was sent already.
    pub(super) fn leave(&mut self, now: Nanos) {
        if !matches!(self.state, State::Left | State::Pending(Op::Bye, _)) {
            self.open(now, Op::Bye, now + BYE_TIMEOUT);
        }
    }

    fn open(&mut self, now: Nanos, op: Op, until: Nanos) {
        self.state = State::Pending(op, until);
        self.number = self.number.wrapping_add(1);
        self.attempts = 0;
        self.due = now;
    }

    /// When to call [`Registration::poll`].
    pub(super) fn due(&self) -> Nanos {
        self.due
    }

    /// Sends what is due.
    pub(super) fn poll(&mut self, now: Nanos, out: &mut Actions) {
        if now < self.due {
            return;
        }
        if self.state == State::Registered {
            self.open(now, Op::Hello, Nanos::MAX);
        }
        let State::Pending(op, until) = self.state else {
            self.due = Nanos::MAX;
            return;
        };
        if now >= until {
            self.end(op);
            return;
        }
        self.attempts += 1;
        self.due = now.saturating_add(self.retry.wait(self.attempts)).min(until);
        let address = client_ip(self.client);
        let (client, number) = (self.client, self.number);
        out.send(&Message::request(address, CONTROLLER_IP, op, client, number, [0; 16]));
    }

    /// A HELLO or BYE was answered or has timed out.
    fn end(&mut self, op: Op) {
        self.state = if op == Op::Bye { State::Left } else { State::Registered };
        self.due = Nanos::MAX;
    }

    /// Handles a frame of the controller; false if it is unexpected.
    pub(super) fn on_frame(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        records: &mut Records,
        out: &mut Actions,
    ) -> bool {
        let Some(stamp) = frame.stamp() else {
            return frame.op() == Op::ByeReply && self.on_bye_reply(frame);
        };
        match frame.op() {
            Op::HelloReply => return self.on_hello_reply(now, frame, stamp.sequence.incarnation),
            Op::ByeReply => return self.on_bye_reply(frame),
            _ if frame.sender() != CONTROLLER_SENDER => return false,
            Op::Release => return self.release(frame, stamp, records, out),
            // 0 is not an incarnation.
            _ if stamp.sequence.incarnation == 0 => return false,
            Op::Collect => self.collect(frame, stamp.sequence, records, out),
            Op::Recovered => self.recovered(frame, stamp, records, out),
            _ => return false,
        }
        true
    }

    fn is_answer(&self, frame: &FrameView<'_>) -> bool {
        frame.sender() == self.client && frame.request() == self.number
    }

    fn on_hello_reply(&mut self, now: Nanos, frame: &FrameView<'_>, incarnation: u32) -> bool {
        if !self.is_answer(frame) || !matches!(self.state, State::Pending(Op::Hello, _)) {
            // A late answer or a copy: its incarnation may be outdated.
            return frame.sender() == self.client;
        }
        self.registered = true;
        self.learn(incarnation);
        self.end(Op::Hello);
        self.due = now.saturating_add(HELLO_EVERY);
        true
    }

    fn on_bye_reply(&mut self, frame: &FrameView<'_>) -> bool {
        if self.is_answer(frame) && matches!(self.state, State::Pending(Op::Bye, _)) {
            self.end(Op::Bye);
        }
        frame.sender() == self.client
    }

    fn learn(&mut self, incarnation: u32) {
        if self.incarnation == 0 || incarnation != 0 && is_newer(incarnation, self.incarnation) {
            self.incarnation = incarnation;
        }
    }

    fn is_outdated(&self, incarnation: u32) -> bool {
        self.incarnation != 0 && is_newer(self.incarnation, incarnation)
    }

    fn release(
        &mut self,
        frame: &FrameView<'_>,
        stamp: Stamp,
        records: &mut Records,
        out: &mut Actions,
    ) -> bool {
        let Sequence { incarnation: snapshot, number } = stamp.sequence;
        let (part, parts) = ((number >> 16) as u16, number as u16);
        match self.list.take(snapshot, part, parts, frame.value()) {
            Taken::Malformed => return false,
            Taken::Complete => records.release(self.list.drain()),
            Taken::Noted => {}
        }
        out.send(&frame.reply(Status::Ok).with_stamp(stamp));
        true
    }

    /// A COLLECT of an earlier recovery is not answered: its list no longer exists, and the
    /// controller must not take an empty list for an answer.
    fn collect(
        &mut self,
        frame: &FrameView<'_>,
        wanted: Sequence,
        records: &Records,
        out: &mut Actions,
    ) {
        let Sequence { incarnation, number: from } = wanted;
        if self.is_outdated(incarnation) {
            return;
        }
        if self.collected != incarnation {
            self.collected = incarnation;
            self.learn(incarnation);
            // Records of the switch's new incarnation are not lost.
            let lost = |of: u32| is_newer(incarnation, of);
            self.collection =
                Some(Collected::new(records, |record| lost(record.sequence.incarnation)));
        }
        let Some(collection) = &self.collection else { return };
        let sequence = Sequence { incarnation, number: collection.len() as u32 };
        let stamp = Stamp { sequence, ..Stamp::default() };
        let page = collection.page(from as usize);
        out.send(&frame.reply(Status::Ok).with_stamp(stamp).with_value(page));
    }

    fn recovered(
        &mut self,
        frame: &FrameView<'_>,
        stamp: Stamp,
        records: &mut Records,
        out: &mut Actions,
    ) {
        let incarnation = stamp.sequence.incarnation;
        out.send(&frame.reply(Status::Ok).with_stamp(stamp));
        if self.is_outdated(incarnation) {
            return;
        }
        self.learn(incarnation);
        let collection = self.collection.take();
        if self.collected != incarnation {
            // No records were collected for this incarnation, and none will be.
            self.collected = incarnation;
            return;
        }
        for (key, sequence) in collection.iter().flat_map(Collected::records) {
            records.remove_up_to(key, sequence);
        }
    }
}
