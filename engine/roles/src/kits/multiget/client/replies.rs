//! Handles replies: matches them to requests and completes operations.

use netkv_wire::client_of_ip;
use netkv_wire::multiget::{Answer, Op, View};
use netkv_workload::OpKind;

use super::Client;
use super::operation::{Operation, Part};
use crate::common::source::Source;
use crate::kits::multiget::key_bits::key_bits;
use crate::{Actions, Nanos};

impl<S: Source<Operation>> Client<S> {
    /// Handles a frame.
    pub(super) fn take_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let receiver = View::parse(bytes, self.config.layout.fields)
            .ok()
            .filter(|view| view.header().reply)
            .and_then(|view| Some((view, client_of_ip(view.destination())?)));
        let Some((view, client)) = receiver else {
            self.source.counts_mut().malformed += 1;
            return;
        };
        let number = view.header().id;
        let found = self.by_number.get(&(client, number)).copied();
        let Some((slot, at)) = found else {
            let counts = self.source.counts_mut();
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
            Answer::Overloaded => self.source.counts_mut().overloaded += 1,
            answer => self.on_refused(now, slot, answer),
        }
        self.start_operations(now, out);
    }

    /// A reply with entries for some keys of a request.
    fn on_entries(&mut self, now: Nanos, slot: u32, at: usize, view: &View<'_>, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        let part = operation.parts[at];
        if view.header().op != operation.op || !names_keys_of(operation, &part, view) {
            self.source.counts_mut().malformed += 1;
            return;
        }
        let first = usize::from(view.header().startidx);
        let end = (first + view.entries().count()).min(part.count);
        let new = part.missing & key_bits(first, end);
        self.source.counts_mut().late_replies += u64::from(new == 0);
        for (index, entry) in (first..end).zip(view.entries()) {
            if new >> index & 1 == 0 || !operation.op.reads() {
                continue;
            }
            let value = entry.found.then_some(entry.value);
            self.source.on_value(now, operation, part.from + index, value, &self.senders);
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
        let reads = operation.op.reads();
        if reads && !operation.tag.verifies {
            self.counts.keys_read += operation.firsts.len() as u64;
        }
        let goes_on = reads && operation.tag.kind == OpKind::ReadModifyWrite;
        self.source.on_done(now, operation, true, false, goes_on);
        if goes_on {
            self.start_second_half(now, slot, out);
        } else if let Some(operation) = self.end(slot) {
            self.recycle(operation);
        }
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
        let Some(mut operation) = self.end(slot) else { return };
        let why = match answer {
            Answer::Failed => "the store of a server failed",
            _ => "the key is reserved for the store itself",
        };
        self.source.on_refused(now, &mut operation, false, why);
        self.recycle(operation);
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
