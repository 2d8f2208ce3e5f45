//! A request from its first frame to its reply or deadline.

use netkv_checker::{Answer, Observed, ReadTicket, Verdict, WriteId, WriteKind};
use netkv_wire::{FrameView, Key, Message, Op, SERVICE_IP, Status, client_ip};
use netkv_workload::{OpKind, Operation};

use super::{Client, Phase};
use crate::mutation::Mutation;
use crate::{Actions, Nanos, fill_value, read_writer};

/// An operation under way.
#[derive(Debug)]
pub(super) struct Request {
    operation: Operation,
    /// Whether the key had a value before anybody wrote it.
    exists: bool,
    /// Whether it is a read of the final verification.
    verifies: bool,
    intended: Nanos,
    deadline: Nanos,
    /// What the current frame asks: a read-modify-write first reads, then writes.
    op: Op,
    client: u16,
    number: u32,
    attempts: u32,
    /// When the timer of this request is due; others in the queue mean nothing.
    timer: Nanos,
    ticket: Option<ReadTicket>,
}

impl Request {
    pub(super) fn new(
        operation: Operation,
        exists: bool,
        intended: Nanos,
        deadline: Nanos,
    ) -> Self {
        let op = match operation.kind {
            OpKind::Read | OpKind::ReadModifyWrite => Op::Get,
            OpKind::Update | OpKind::Insert => Op::Put,
            OpKind::Delete => Op::Delete,
        };
        Self {
            operation,
            exists,
            verifies: false,
            intended,
            deadline,
            op,
            client: 0,
            number: 0,
            attempts: 0,
            timer: 0,
            ticket: None,
        }
    }

    fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.number }
    }

    pub(super) fn verifying(mut self) -> Self {
        self.verifies = true;
        self
    }
}

impl Client {
    /// Takes one frame; pushes what must happen next onto `out`.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(frame) = FrameView::parse(bytes) else {
            self.stats.counts.malformed += 1;
            return;
        };
        let number = (frame.sender(), frame.request());
        let mut found = self.by_number.get(&number).copied();
        if self.mutated.by(Mutation::MatchRepliesByKey) {
            found = (0..self.requests.len() as u32).find(|slot| self.is_about(*slot, &frame.key()));
        }
        let Some(slot) = found.filter(|slot| self.expects(*slot, &frame)) else {
            let ours = frame.op().is_reply() && self.senders.issued(number.0, number.1);
            let counts = &mut self.stats.counts;
            *(if ours { &mut counts.late_replies } else { &mut counts.malformed }) += 1;
            return;
        };
        if frame.status() == Status::Overloaded {
            // Nothing was done; the retry timer runs on.
            self.stats.counts.overloaded += 1;
            return;
        }
        let Some(request) = self.requests[slot as usize].take() else { return };
        self.end_number(&request);
        self.on_reply(now, slot, request, &frame, out);
        self.fill(now, out);
    }

    fn expects(&self, slot: u32, frame: &FrameView<'_>) -> bool {
        self.requests[slot as usize].as_ref().is_some_and(|it| it.op.reply() == frame.op())
    }

    fn is_about(&self, slot: u32, key: &Key) -> bool {
        self.requests[slot as usize].as_ref().is_some_and(|it| it.operation.key == *key)
    }

    fn on_reply(
        &mut self,
        now: Nanos,
        slot: u32,
        mut request: Request,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let refused = !matches!(frame.status(), Status::Ok | Status::NotFound);
        if request.op == Op::Get {
            self.on_read(now, &mut request, frame, refused);
        } else {
            self.stats.counts.writes += 1;
            let (key, id) = (&request.operation.key, request.id());
            if self.config.check && refused {
                // One without acknowledgement: who knows what the store did.
                self.checker.give_up_write(key, id);
            } else if self.config.check {
                self.checker.end_write(now, key, id);
            }
            self.settle(&request);
        }
        if request.op == Op::Get && request.operation.kind == OpKind::ReadModifyWrite && !refused {
            request.op = Op::Put;
            request.attempts = 0;
            let (client, number) = self.senders.take_again(request.client);
            (request.client, request.number) = (client, number);
            self.enter(now, slot, request, out);
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

    fn on_read(&mut self, now: Nanos, request: &mut Request, frame: &FrameView<'_>, refused: bool) {
        let counts = &mut self.stats.counts;
        if !request.verifies {
            counts.reads += 1;
            counts.hits += u64::from(frame.cache_hit());
            counts.not_found += u64::from(frame.status() == Status::NotFound);
        }
        let Some(ticket) = request.ticket else { return };
        let key = &request.operation.key;
        if refused {
            // The ticket stays: for a verification, this key has not been read.
            self.checker.give_up_read(key, ticket);
            return;
        }
        request.ticket = None;
        let observed = match frame.status() {
            Status::NotFound => Observed::NotFound,
            _ => read_writer(key, frame.value()).map_or(Observed::Garbage, Observed::Value),
        };
        let (issued, foreign) = match observed {
            Observed::Value(id) => (
                self.senders.issued(id.client, id.request),
                self.config.other_writers && id != WriteId::INITIAL,
            ),
            _ => (false, self.config.other_writers && observed == Observed::NotFound),
        };
        let verdict = if foreign && !issued {
            self.checker.skip_read(key, ticket);
            Verdict::Unchecked
        } else {
            let (reader, exists, last) = (request.id(), request.exists, request.verifies);
            let answer = Answer { reader, observed, exists, issued, last };
            self.checker.end_read(now, key, ticket, answer)
        };
        self.count_verdict(verdict, request.verifies);
    }

    fn count_verdict(&mut self, verdict: Verdict, verifies: bool) {
        let counts = &mut self.stats.counts;
        match verdict {
            Verdict::Fresh => {}
            Verdict::Unchecked => counts.unchecked_reads += 1,
            Verdict::Stale | Verdict::Phantom if verifies => self.verify_lost(),
            Verdict::Stale => counts.stale_reads += 1,
            Verdict::Phantom => counts.phantom_reads += 1,
        }
    }

    /// Numbers a request and sends it for the first time. There is room (rule 2).
    pub(super) fn start_request(&mut self, now: Nanos, mut request: Request, out: &mut Actions) {
        (request.client, request.number) = self.senders.take();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.requests.push(None);
            (self.requests.len() - 1) as u32
        });
        self.outstanding += 1;
        self.enter(now, slot, request, out);
    }

    /// Puts a numbered request into its slot, tells the checker, and sends it.
    fn enter(&mut self, now: Nanos, slot: u32, mut request: Request, out: &mut Actions) {
        self.by_number.insert((request.client, request.number), slot);
        if self.config.check {
            let (key, id, exists) = (&request.operation.key, request.id(), request.exists);
            match request.op {
                Op::Get => request.ticket = Some(self.checker.begin_read(now, key)),
                Op::Put => self.checker.begin_write(now, key, id, WriteKind::Put, exists),
                _ => self.checker.begin_write(now, key, id, WriteKind::Delete, exists),
            }
        }
        self.send(now, &mut request, out);
        self.requests[slot as usize] = Some(request);
    }

    /// Sends a request, for the first time or again, and sets its timer.
    fn send(&mut self, now: Nanos, request: &mut Request, out: &mut Actions) {
        request.attempts += 1;
        self.stats.counts.sent += 1;
        self.stats.counts.retries += u64::from(request.attempts > 1);
        request.timer = (now + self.config.retry.wait(request.attempts)).min(request.deadline);
        self.timers.set(request.timer, (request.client, request.number));
        let key = request.operation.key;
        let message = Message::request(
            client_ip(request.client),
            SERVICE_IP,
            request.op,
            request.client,
            request.number,
            key,
        );
        if request.op == Op::Put {
            self.value.resize(request.operation.size, 0);
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
        let Some(&slot) = self.by_number.get(&number) else { return };
        let Some(mut request) = self.requests[slot as usize].take_if(|it| it.timer == at) else {
            return;
        };
        let again = !self.mutated.by(Mutation::RequestOnce);
        if now < request.deadline && again {
            self.send(now, &mut request, out);
            self.requests[slot as usize] = Some(request);
            return;
        }
        self.end_number(&request);
        self.release(slot);
        let (key, id) = (&request.operation.key, request.id());
        if let Some(ticket) = request.ticket {
            self.checker.give_up_read(key, ticket);
        } else if self.config.check {
            self.checker.give_up_write(key, id);
        }
        self.settle(&request);
        if request.verifies {
            self.verify_ended(false);
        } else {
            self.stats.counts.lost += 1;
        }
    }

    fn end_number(&mut self, request: &Request) {
        self.by_number.remove(&(request.client, request.number));
        self.senders.end(request.client, request.number);
    }

    fn release(&mut self, slot: u32) {
        self.free.push(slot);
        self.outstanding -= 1;
    }

    /// An insert is over, so read-latest may go on to it.
    fn settle(&mut self, request: &Request) {
        if request.operation.kind == OpKind::Insert && self.phase != Phase::Verifying {
            self.workload.settle_insert(request.operation.id);
        }
    }
}
