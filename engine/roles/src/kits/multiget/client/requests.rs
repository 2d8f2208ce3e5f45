//! Sends requests and retries, and gives operations up.

use netkv_wire::multiget::Op;
use netkv_workload::OpKind;

use super::Client;
use super::operation::Operation;
use super::writer::RequestWriter;
use crate::common::source::Source;
use crate::{Actions, Nanos};

impl<S: Source<Operation>> Client<S> {
    /// Starts as many operations as may run now.
    pub(super) fn start_operations(&mut self, now: Nanos, out: &mut Actions) {
        loop {
            let (layout, spare) = (&self.config.layout, &mut self.spare);
            let (has_room, outstanding) = (|| self.senders.has_room(), self.operations.len());
            let next =
                self.source.next(now, outstanding, has_room, |load, drawn, tag, deadline| {
                    let mut operation = Operation::reused(spare);
                    operation.begin(tag, deadline);
                    operation.size = drawn.size.into();
                    load.ids.iter().for_each(|id| operation.add_id(*id, load.exists(*id), layout));
                    if drawn.kind == OpKind::Read && !tag.verifies {
                        operation.choose_read(load.workload.config().multiget.is_some());
                    }
                    operation
                });
            let Some(operation) = next else { return };
            self.start_operation(now, operation, out);
        }
    }

    /// Divides an operation into requests and sends them for the first time. The source has checked
    /// that there is room.
    fn start_operation(&mut self, now: Nanos, mut operation: Operation, out: &mut Actions) {
        self.config.architecture.divide(&mut operation, &self.config.layout);
        if operation.deadline <= now {
            self.lose(operation);
            return;
        }
        let (client, number) = self.senders.take();
        operation.client = client;
        for (at, part) in operation.parts.iter_mut().enumerate() {
            part.number = if at == 0 { number } else { self.senders.take_again(client).1 };
        }
        let slot = self.operations.add(operation);
        self.enter(now, slot, out);
    }

    /// Sends the numbered requests of an operation.
    pub(super) fn enter(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(operation) = self.operations.get_mut(slot) else { return };
        for (at, part) in operation.parts.iter().enumerate() {
            self.by_number.insert((operation.client, part.number), (slot, at));
            self.counts.groups += u64::from(part.groups.count);
        }
        self.source.begin(now, operation);
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
        if operation.op == Op::Put {
            self.value.resize(operation.size, 0);
            self.source.fill(operation, &mut self.value);
        }
        let (layout, value) = (&self.config.layout, &self.value);
        let writer = RequestWriter { layout, operation, value };
        for part in operation.parts.iter().filter(|part| part.missing != 0) {
            self.config.architecture.send_missing(&writer, part, out);
        }
        let sent = (out.frames().len() - before) as u64;
        self.source.counts_mut().requests += sent;
        self.source.counts_mut().retries += if operation.attempts > 1 { sent } else { 0 };
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
        if let Some(operation) = self.end(slot) {
            self.lose(operation);
        }
    }

    /// An operation has ended without an answer. Notes which servers have not answered.
    fn lose(&mut self, mut operation: Operation) {
        operation.missing_servers(self.config.layout.servers, &mut self.last_missing);
        if !operation.tag.verifies {
            self.counts.missing_groups += self.last_missing.len() as u64;
        }
        self.source.on_lost(&mut operation);
        self.recycle(operation);
    }

    /// Removes an ended operation and its numbers.
    pub(super) fn end(&mut self, slot: u32) -> Option<Operation> {
        let operation = self.operations.take(slot)?;
        self.end_numbers(&operation);
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
