//! A request from its first frame to its reply or deadline.

use netkv_wire::{FrameView, Message, Op, SERVICE_IP, Status, client_ip};
use netkv_workload::OpKind;

use super::Client;
use super::protocol::{Protocol, Verdict};
use super::request::Request;
use crate::common::load::VERIFY_RETRY;
use crate::common::source::{Source, UnderWay};
use crate::{Actions, Nanos};

/// So many timers more than twice the requests under way are kept.
const MORE_TIMERS: usize = 64;

impl<P: Protocol, S: Source<Request>> Client<P, S> {
    /// Handles a frame.
    pub(super) fn take_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(frame) = FrameView::parse(bytes) else {
            self.source.counts_mut().malformed += 1;
            return;
        };
        let found = self.senders.owner(frame.sender(), frame.request());
        let Some(slot) = found.filter(|slot| self.expects(*slot, &frame)) else {
            self.on_other_frame(now, &frame, out);
            return;
        };
        if frame.status() == Status::Overloaded {
            // The server did nothing; the retry timer keeps running.
            self.source.counts_mut().overloaded += 1;
            return;
        }
        let expected = self.requests[slot as usize].as_ref();
        let written = expected.map_or(0, |it| if it.op == Op::Put { it.operation.size } else { 0 });
        match self.protocol.judge(&frame, written.into()) {
            Verdict::Accept => {}
            Verdict::Ignore => {
                self.source.counts_mut().ignored += 1;
                return;
            }
            Verdict::Malformed => {
                self.source.counts_mut().malformed += 1;
                return;
            }
        }
        let Some(request) = self.requests[slot as usize].take() else { return };
        self.protocol.on_answer(&frame);
        self.end_number(&request);
        self.timeouts.answered(request.attempts, now.saturating_sub(request.sent));
        self.on_reply(now, slot, request, &frame, out);
        self.start_requests(now, out);
    }

    /// A frame that answers no request under way.
    fn on_other_frame(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let ours = frame.op().is_reply() && self.senders.issued(frame.sender(), frame.request());
        let expected = self.protocol.on_message(now, frame, out);
        let counts = self.source.counts_mut();
        if ours && !expected {
            counts.late_replies += 1;
        } else if !expected {
            counts.malformed += 1;
        }
    }

    fn expects(&self, slot: u32, frame: &FrameView<'_>) -> bool {
        self.requests[slot as usize].as_ref().is_some_and(|it| it.op.reply() == frame.op())
    }

    fn on_reply(
        &mut self,
        now: Nanos,
        slot: u32,
        mut request: Request,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let (reads, hit, status) = (request.reads(), frame.cache_hit(), frame.status());
        let found = status == Status::Ok;
        let modifies = reads && request.operation.kind == OpKind::ReadModifyWrite;
        let goes_on = modifies && matches!(status, Status::Ok | Status::NotFound);
        match status {
            Status::Ok | Status::NotFound => {
                self.note_answer(now, &mut request, frame);
                self.source.on_done(now, &request, found, hit, goes_on);
            }
            Status::Unknown if !reads => self.source.on_unknown(&mut request),
            Status::Conflict if request.conditional => {
                // If it was sent again, an earlier copy may have caused the conflict.
                let certain = request.attempts == 1;
                self.source.on_conflict(now, &mut request, certain);
            }
            Status::TooLarge => {
                self.source.on_refused(now, &mut request, hit, "the value is too long");
            }
            _ => {
                let why = "the server has refused it, or its store has failed";
                self.source.on_refused(now, &mut request, hit, why);
            }
        }
        if !goes_on {
            self.release(slot);
            return;
        }
        request.op = Op::Put;
        request.attempts = 0;
        let (client, number) = self.senders.take_again(request.client);
        (request.client, request.number) = (client, number);
        self.requests[slot as usize] = Some(request);
        self.enter(now, slot, out);
    }

    /// Hands a read or a completed write to the protocol, and what was read to the source.
    fn note_answer(&mut self, now: Nanos, request: &mut Request, frame: &FrameView<'_>) {
        if request.reads() {
            self.protocol.on_read(&request.operation.key, frame);
            let value = (frame.status() == Status::Ok).then(|| frame.value());
            self.source.on_value(now, request, 0, value, &self.senders);
        } else {
            let length = (request.op == Op::Put).then_some(request.operation.size);
            let fill = |value: &mut [u8]| self.source.fill(request, value);
            self.protocol.on_written(&request.operation.key, length, fill, frame);
        }
    }

    /// Starts as many operations as may run now.
    pub(super) fn start_requests(&mut self, now: Nanos, out: &mut Actions) {
        loop {
            let has_room = || self.senders.has_room();
            let next =
                self.source.next(now, self.outstanding, has_room, |load, it, tag, deadline| {
                    Request::new(it, 0, load.exists(it.id), tag, deadline)
                });
            let Some(request) = next else { return };
            self.start_request(now, request, out);
        }
    }

    /// Numbers a request and sends it for the first time. The source has checked that there is room
    /// (rule 2).
    // Inlined, so that a request is written to its slot and not first to the stack.
    #[inline(always)]
    fn start_request(&mut self, now: Nanos, mut request: Request, out: &mut Actions) {
        (request.client, request.number) = self.senders.take();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.requests.push(None);
            (self.requests.len() - 1) as u32
        });
        self.outstanding += 1;
        self.requests[slot as usize] = Some(request);
        self.enter(now, slot, out);
    }

    /// Stamps the numbered request in a slot, and sends it.
    fn enter(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(request) = &mut self.requests[slot as usize] else { return };
        self.senders.set_owner(request.client, request.number, slot);
        let asks = request.op == Op::Put && request.operation.conditional;
        let condition = if asks { self.protocol.condition(&request.operation.key) } else { None };
        request.conditional = condition.is_some();
        request.stamp = condition.or_else(|| self.protocol.stamp());
        self.source.begin(now, request);
        self.send(now, slot, out);
    }

    /// Sends the request in a slot, for the first time or again, and sets its timer.
    fn send(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(request) = &mut self.requests[slot as usize] else { return };
        request.attempts += 1;
        self.source.counts_mut().requests += 1;
        self.source.counts_mut().retries += u64::from(request.attempts > 1);
        request.sent = now;
        let wait = self.timeouts.wait(request.attempts);
        let wait = if request.verifies { wait.min(VERIFY_RETRY) } else { wait };
        request.timer = (now + wait).min(request.deadline);
        let (timer, number) = (request.timer, (request.client, request.number));
        let (senders, requests) = (&self.senders, &self.requests);
        let enough = 2 * (requests.len() - self.free.len()) + MORE_TIMERS;
        self.timers.discard(enough, |at, (client, number)| {
            let slot = senders.owner(*client, *number);
            slot.and_then(|slot| requests[slot as usize].as_ref()).is_some_and(|it| it.timer == at)
        });
        self.timers.set(timer, number);
        let Some(request) = &mut self.requests[slot as usize] else { return };
        let key = request.operation.key;
        let message = Message::request(
            client_ip(request.client),
            SERVICE_IP,
            request.op,
            request.client,
            request.number,
            key,
        );
        let message = Message { stamp: request.stamp, ..message };
        if request.op == Op::Put {
            self.value.resize(request.operation.size.into(), 0);
            self.source.fill(request, &mut self.value);
            self.protocol.send(&message.with_value(&self.value), out);
        } else {
            self.protocol.send(&message, out);
        }
    }

    pub(super) fn on_timer(
        &mut self,
        now: Nanos,
        at: Nanos,
        number: (u16, u32),
        out: &mut Actions,
    ) {
        let Some(slot) = self.senders.owner(number.0, number.1) else { return };
        let entry = &mut self.requests[slot as usize];
        let Some(request) = entry.as_mut().filter(|it| it.timer == at) else { return };
        if now < request.deadline {
            self.send(now, slot, out);
            return;
        }
        if let Some(request) = entry.take() {
            self.give_up(slot, request);
        }
    }

    /// Ends a request of which the effect is unknown.
    pub(super) fn give_up(&mut self, slot: u32, mut request: Request) {
        self.end_number(&request);
        self.release(slot);
        self.source.on_lost(&mut request);
    }

    fn end_number(&mut self, request: &Request) {
        self.senders.end(request.client, request.number);
    }

    fn release(&mut self, slot: u32) {
        self.free.push(slot);
        self.outstanding -= 1;
    }
}
