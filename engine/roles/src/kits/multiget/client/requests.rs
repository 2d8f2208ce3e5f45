//! Sends requests and retries, and gives operations up.

use netkv_checker::WriteKind;
use netkv_wire::multiget::Op;
use netkv_workload::OpKind;

use super::operation::{Operation, RequestedKey};
use super::state::Client;
use super::writer::RequestWriter;
use crate::common::load::Phase;
use crate::{Actions, Nanos, fill_value};

impl Client {
    /// A read is a multiget if it has several keys, or if the load has multigets.
    pub(super) fn choose_read(&self, operation: &mut Operation) {
        let multiget = self.workload.config().multiget.is_some() || operation.keys.len() > 1;
        operation.op = if multiget { Op::Mget } else { Op::Get };
    }

    /// Divides an operation into requests and sends them for the first time. The caller has checked
    /// that there is room.
    pub(super) fn start_operation(
        &mut self,
        now: Nanos,
        mut operation: Operation,
        out: &mut Actions,
    ) {
        self.config.architecture.divide(&mut operation, &self.config.layout);
        let (client, number) = self.senders.take();
        operation.client = client;
        for (at, part) in operation.parts.iter_mut().enumerate() {
            part.number = if at == 0 { number } else { self.senders.take_again(client).1 };
        }
        let slot = self.operations.add(operation);
        self.enter(now, slot, out);
    }

    /// Sends the numbered requests of an operation, and reports it to the checker.
    pub(super) fn enter(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        let id = operation.id();
        for (at, part) in operation.parts.iter().enumerate() {
            self.by_number.insert((operation.client, part.number), (slot, at));
            self.counts.groups += u64::from(part.groups.count);
        }
        if operation.token.is_none() {
            for asked in &mut operation.keys {
                let RequestedKey { key, exists, .. } = *asked;
                match operation.op {
                    Op::Mget | Op::Get => asked.ticket = self.judge.begin_read(now, &key),
                    Op::Put => self.judge.begin_write(now, &key, id, WriteKind::Put, exists),
                    Op::Delete => self.judge.begin_write(now, &key, id, WriteKind::Delete, exists),
                }
            }
        }
        self.send(now, slot, out);
    }

    /// Sends the unanswered requests, for the first time or again, and sets the timer.
    fn send(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        operation.attempts += 1;
        operation.sent = now;
        let wait = self.timeouts.wait(operation.attempts);
        operation.timer = (now + wait).min(operation.deadline);
        self.timers.set(operation.timer, slot);
        let before = out.frames().len();
        if operation.op == Op::Put && operation.token.is_none() {
            self.value.resize(operation.size, 0);
            fill_value(&operation.keys[0].key, operation.id(), &mut self.value);
        }
        let (layout, value) = (&self.config.layout, &self.value);
        let writer = RequestWriter { layout, operation, value };
        for part in operation.parts.iter().filter(|part| part.missing != 0) {
            self.config.architecture.send_missing(&writer, part, out);
        }
        let sent = (out.frames().len() - before) as u64;
        self.stats.counts.requests += sent;
        self.stats.counts.retries += if operation.attempts > 1 { sent } else { 0 };
    }

    pub(super) fn on_timer(&mut self, now: Nanos, at: Nanos, slot: u32, out: &mut Actions) {
        let Some(operation) = self.operations.get(slot).filter(|it| it.timer == at) else { return };
        if now < operation.deadline {
            self.send(now, slot, out);
        } else {
            self.give_up(slot);
        }
    }

    /// Ends an operation of which the effect is unknown.
    pub(super) fn give_up(&mut self, slot: u32) {
        let Some(operation) = self.end(slot) else { return };
        self.forget(&operation);
        self.report_missing(&operation);
        match (operation.verifies, self.verification.as_mut()) {
            (true, Some(verification)) => verification.ended(false),
            _ if operation.token.is_some() => {}
            _ => {
                self.stats.counts.lost += 1;
                self.counts.missing_groups += self.last_missing.len() as u64;
            }
        }
        self.recycle(operation);
    }

    /// Reports the unanswered keys of an operation to the checker as given up.
    pub(super) fn forget(&mut self, operation: &Operation) {
        for asked in &operation.keys {
            match (asked.ticket, operation.op.reads()) {
                (Some(ticket), _) => self.judge.give_up_read(&asked.key, ticket),
                (None, true) => {}
                (None, false) if operation.token.is_some() => {}
                (None, false) => self.judge.give_up_write(&asked.key, operation.id()),
            }
        }
    }

    /// Removes an ended operation and its numbers.
    pub(super) fn end(&mut self, slot: u32) -> Option<Operation> {
        let operation = self.operations.take(slot)?;
        self.end_numbers(&operation);
        // The insert has ended, so read-latest may read its key.
        if operation.kind == OpKind::Insert && self.load.phase != Phase::Verifying {
            self.workload.settle_insert(operation.id);
        }
        Some(operation)
    }

    pub(super) fn end_numbers(&mut self, operation: &Operation) {
        for part in &operation.parts {
            self.by_number.remove(&(operation.client, part.number));
            self.senders.end(operation.client, part.number);
        }
    }

    pub(super) fn recycle(&mut self, operation: Operation) {
        if self.spare.len() < 1024 {
            self.spare.push(operation);
        }
    }
}
