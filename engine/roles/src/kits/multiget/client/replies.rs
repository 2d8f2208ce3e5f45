//! Handles replies: matches them to requests and completes operations.

use netkv_wire::client_of_ip;
use netkv_wire::multiget::{Answer, Op, View};
use netkv_workload::OpKind;

use super::operation::{Operation, Part};
use super::state::Client;
use crate::common::load::Read;
use crate::kits::multiget::key_bits::key_bits;
use crate::{Actions, Nanos};

impl Client {
    /// Handles a frame.
    pub(super) fn take_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let receiver = View::parse(bytes, self.config.layout.fields)
            .ok()
            .filter(|view| view.header().reply)
            .and_then(|view| Some((view, client_of_ip(view.destination())?)));
        let Some((view, client)) = receiver else {
            self.stats.counts.malformed += 1;
            return;
        };
        let number = view.header().id;
        let found = self.by_number.get(&(client, number)).copied();
        let Some((slot, at)) = found else {
            let counts = &mut self.stats.counts;
            if self.senders.issued(client, number) {
                counts.late_replies += 1;
            } else {
                counts.malformed += 1;
            }
            return;
        };
        match view.answer() {
            Answer::Ok => self.on_entries(now, slot, at, &view, out),
            // The server did nothing; the retry timer keeps running.
            Answer::Overloaded => self.stats.counts.overloaded += 1,
            answer => self.on_refused(now, slot, answer),
        }
        self.fill(now, out);
    }

    /// A reply with entries for some keys of a request.
    fn on_entries(&mut self, now: Nanos, slot: u32, at: usize, view: &View<'_>, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        let part = operation.parts[at];
        if view.header().op != operation.op || !names_keys_of(operation, &part, view) {
            self.stats.counts.malformed += 1;
            return;
        }
        let first = usize::from(view.header().startidx);
        let end = (first + view.entries().count()).min(part.count);
        let new = part.missing & key_bits(first, end);
        self.stats.counts.late_replies += u64::from(new == 0);
        for (index, entry) in (first..end).zip(view.entries()) {
            if new >> index & 1 == 0 || !operation.op.reads() {
                continue;
            }
            let (reader, verifies) = (operation.id(), operation.verifies);
            let load = operation.token.is_none();
            let asked = &mut operation.keys[part.from + index];
            let value = entry.found.then_some(entry.value);
            self.stats.counts.not_found += u64::from(value.is_none() && !verifies && load);
            if !load {
                asked.value = value.map(|value| {
                    let start = operation.values.len();
                    operation.values.extend_from_slice(value);
                    (start, operation.values.len())
                });
            } else if let Some(ticket) = asked.ticket.take() {
                let (key, exists) = (&asked.key, asked.exists);
                let read = Read { key, ticket, reader, value, exists, verifies };
                let counts = &mut self.stats.counts;
                let lost = self.judge.end_read(now, &read, &self.senders, counts);
                if let Some(verification) = self.verification.as_mut().filter(|_| lost) {
                    verification.lost();
                }
            }
        }
        let part = &mut operation.parts[at];
        part.missing &= !new;
        if part.missing == 0 && new != 0 {
            operation.open -= 1;
            if operation.open == 0 {
                self.complete(now, slot, out);
            }
        }
    }

    /// All requests of an operation are answered.
    pub(super) fn complete(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        self.timeouts.answered(operation.attempts, now.saturating_sub(operation.sent));
        let counts = &mut self.stats.counts;
        let (reads, load) = (operation.op.reads(), operation.token.is_none());
        if !operation.verifies && load {
            counts.reads += u64::from(reads);
            counts.writes += u64::from(!reads);
            self.counts.keys_read += if reads { operation.firsts.len() as u64 } else { 0 };
        }
        if !reads && load {
            self.judge.end_write(now, &operation.keys[0].key, operation.id());
        }
        if reads && operation.kind == OpKind::ReadModifyWrite {
            self.start_second_half(now, slot, out);
            return;
        }
        let Some(operation) = self.end(slot) else { return };
        match (operation.verifies, self.verification.as_mut()) {
            (true, Some(verification)) => verification.ended(true),
            _ if operation.token.is_some() => {}
            _ => self.note_end(now, &operation),
        }
        self.report_done(&operation);
        self.recycle(operation);
    }

    /// The second half of a read-modify-write, with a number of its own.
    fn start_second_half(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(mut operation) = self.operations.take(slot) else { return };
        self.end_numbers(&operation);
        operation.op = Op::Put;
        operation.attempts = 0;
        self.config.architecture.divide(&mut operation, &self.config.layout);
        for part in &mut operation.parts {
            part.number = self.senders.take_again(operation.client).1;
        }
        let slot = self.operations.add(operation);
        self.enter(now, slot, out);
    }

    /// A server or the coordinator has refused a request, so the operation is refused.
    fn on_refused(&mut self, now: Nanos, slot: u32, answer: Answer) {
        let Some(operation) = self.end(slot) else { return };
        self.forget(&operation);
        let reads = operation.op.reads();
        self.stats.counts.errors += u64::from(operation.token.is_none());
        match (operation.verifies, self.verification.as_mut()) {
            (true, Some(verification)) => verification.ended(false),
            _ if operation.token.is_some() => {}
            _ => {
                self.stats.counts.reads += u64::from(reads);
                self.stats.counts.writes += u64::from(!reads);
                self.note_end(now, &operation);
            }
        }
        self.report_refused(&operation, answer);
        self.recycle(operation);
    }

    fn note_end(&mut self, now: Nanos, operation: &Operation) {
        self.stats.counts.completed += 1;
        self.stats.latency.saturating_record(now.saturating_sub(operation.intended).max(1));
    }
}

/// Whether the entries of a reply have the keys of this request, at their positions.
fn names_keys_of(operation: &Operation, part: &Part, view: &View<'_>) -> bool {
    let first = usize::from(view.header().startidx);
    let keys = operation.keys_of(part).get(first..).unwrap_or_default();
    let mut entries = view.entries();
    let mut named = keys.iter().zip(entries.by_ref());
    named.all(|(asked, entry)| asked.name.as_bytes() == entry.key)
        && entries.next().is_none()
        && first + usize::from(view.header().numkey) <= part.count
}
