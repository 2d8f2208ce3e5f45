//! A request from its first frame to its reply or deadline.

use netkv_checker::WriteKind;
use netkv_wire::{FrameView, Message, Op, SERVICE_IP, Status, client_ip};
use netkv_workload::OpKind;

use super::protocol::{Protocol, Verdict};
use super::request::Request;
use super::state::Client;
use crate::common::load::{Phase, VERIFY_RETRY};
use crate::{Actions, Nanos, fill_value};

/// So many timers more than twice the requests under way are kept.
const MORE_TIMERS: usize = 64;

impl<P: Protocol> Client<P> {
    /// Handles a frame.
    pub(super) fn take_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(frame) = FrameView::parse(bytes) else {
            self.stats.counts.malformed += 1;
            return;
        };
        let found = self.senders.owner(frame.sender(), frame.request());
        let Some(slot) = found.filter(|slot| self.expects(*slot, &frame)) else {
            self.on_other_frame(now, &frame, out);
            return;
        };
        if frame.status() == Status::Overloaded {
            // The server did nothing; the retry timer keeps running.
            self.stats.counts.overloaded += 1;
            return;
        }
        let expected = self.requests[slot as usize].as_ref();
        let written = expected.map_or(0, |it| if it.op == Op::Put { it.operation.size } else { 0 });
        match self.protocol.judge(&frame, written.into()) {
            Verdict::Accept => {}
            Verdict::Ignore => {
                self.stats.counts.ignored += 1;
                return;
            }
            Verdict::Malformed => {
                self.stats.counts.malformed += 1;
                return;
            }
        }
        let Some(request) = self.requests[slot as usize].take() else { return };
        self.protocol.on_answer(&frame);
        self.end_number(&request);
        self.timeouts.answered(request.attempts, now.saturating_sub(request.sent));
        self.on_reply(now, slot, request, &frame, out);
        self.fill(now, out);
    }

    /// A frame that answers no request under way.
    fn on_other_frame(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let ours = frame.op().is_reply() && self.senders.issued(frame.sender(), frame.request());
        let expected = self.protocol.on_message(now, frame, out);
        let counts = &mut self.stats.counts;
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
        if let Some(submitted) = &request.submitted {
            self.release(slot);
            self.on_answer(&request, submitted, frame);
            return;
        }
        let mut refused = !matches!(frame.status(), Status::Ok | Status::NotFound);
        if request.op == Op::Get {
            self.on_read(now, &mut request, frame, refused);
        } else {
            if frame.status() == Status::Unknown {
                self.stats.counts.unknown += 1;
                self.give_up(slot, &request);
                return;
            }
            let conflict = request.conditional && frame.status() == Status::Conflict;
            self.stats.counts.conflicts += u64::from(conflict);
            if !refused {
                self.note_written(&request, frame);
            }
            self.stats.counts.writes += 1;
            let (key, id) = (&request.operation.key, request.id());
            if conflict && request.attempts == 1 {
                self.judge.refuse_write(now, key, id, &mut self.stats.counts);
            } else if refused {
                // Not acknowledged: the effect on the store is unknown. That includes a conflict of
                // a request that was sent again, as an earlier copy may have caused it.
                self.judge.give_up_write(key, id);
            } else {
                self.judge.end_write(now, key, id);
            }
            self.settle(&request);
            // An answer, and no error.
            refused &= !conflict;
        }
        if request.op == Op::Get && request.operation.kind == OpKind::ReadModifyWrite && !refused {
            request.op = Op::Put;
            request.attempts = 0;
            let (client, number) = self.senders.take_again(request.client);
            (request.client, request.number) = (client, number);
            self.requests[slot as usize] = Some(request);
            self.enter(now, slot, out);
            return;
        }
        self.release(slot);
        self.stats.counts.errors += u64::from(refused);
        if request.verifies {
            self.verify_ended(request.ticket.is_none());
        } else {
            self.stats.counts.completed += 1;
            self.stats.latency.saturating_record(now.saturating_sub(request.intended).max(1));
        }
    }

    /// Hands a completed write to the protocol.
    pub(super) fn note_written(&mut self, request: &Request, frame: &FrameView<'_>) {
        let (key, id) = (&request.operation.key, request.id());
        let length = (request.op == Op::Put).then_some(request.operation.size);
        let fill = |value: &mut [u8]| match &request.submitted {
            Some(submitted) => value.copy_from_slice(&submitted.value),
            None => fill_value(key, id, value),
        };
        self.protocol.on_written(key, length, fill, frame);
    }

    /// Numbers a request and sends it for the first time. The caller has checked that there is room
    /// (rule 2).
    // Inlined, so that a request is written to its slot and not first to the stack.
    #[inline(always)]
    pub(super) fn start_request(&mut self, now: Nanos, mut request: Request, out: &mut Actions) {
        (request.client, request.number) = self.senders.take();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.requests.push(None);
            (self.requests.len() - 1) as u32
        });
        self.outstanding += 1;
        // A free slot is empty. To drop what it has, the compiler would first write the request to
        // the stack, and copy it from there.
        std::mem::forget(self.requests[slot as usize].replace(request));
        self.enter(now, slot, out);
    }

    /// Reports the numbered request in a slot to the checker, and sends it.
    fn enter(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(request) = &mut self.requests[slot as usize] else { return };
        self.senders.set_owner(request.client, request.number, slot);
        let asks = request.op == Op::Put && request.operation.conditional;
        let condition = if asks { self.protocol.condition(&request.operation.key) } else { None };
        request.conditional = condition.is_some();
        request.stamp = condition.or_else(|| self.protocol.stamp());
        let (key, id, exists) = (&request.operation.key, request.id(), request.exists);
        match request.op {
            _ if request.submitted.is_some() => {}
            Op::Get => request.ticket = self.judge.begin_read(now, key),
            Op::Put => self.judge.begin_write(now, key, id, WriteKind::Put, exists),
            _ => self.judge.begin_write(now, key, id, WriteKind::Delete, exists),
        }
        self.send(now, slot, out);
    }

    /// Sends the request in a slot, for the first time or again, and sets its timer.
    fn send(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(request) = &mut self.requests[slot as usize] else { return };
        request.attempts += 1;
        self.stats.counts.requests += 1;
        self.stats.counts.retries += u64::from(request.attempts > 1);
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
        if let Some(submitted) = &request.submitted {
            out.send(&message.with_value(&submitted.value));
        } else if request.op == Op::Put {
            self.value.resize(request.operation.size.into(), 0);
            fill_value(&key, request.id(), &mut self.value);
            out.send(&message.with_value(&self.value));
        } else {
            out.send(&message);
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
        let Some(request) = entry.take() else { return };
        self.give_up(slot, &request);
        self.stats.counts.lost += u64::from(request.is_load());
    }

    /// Ends a request of which the effect is unknown.
    pub(super) fn give_up(&mut self, slot: u32, request: &Request) {
        self.end_number(request);
        self.release(slot);
        if let Some(submitted) = &request.submitted {
            self.users.give_up(submitted);
            return;
        }
        let (key, id) = (&request.operation.key, request.id());
        match (request.ticket, request.op) {
            (Some(ticket), _) => self.judge.give_up_read(key, ticket),
            (None, Op::Get) => {}
            (None, _) => self.judge.give_up_write(key, id),
        }
        self.settle(request);
        if request.verifies {
            self.verify_ended(false);
        }
    }

    fn end_number(&mut self, request: &Request) {
        self.senders.end(request.client, request.number);
    }

    fn release(&mut self, slot: u32) {
        self.free.push(slot);
        self.outstanding -= 1;
    }

    /// The insert has ended, so read-latest may read its key.
    fn settle(&mut self, request: &Request) {
        if request.operation.kind == OpKind::Insert && self.load.phase != Phase::Verifying {
            self.workload.settle_insert(request.operation.id);
        }
    }
}
