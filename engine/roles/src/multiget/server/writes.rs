//! Writes, each with one effect.

use netkv_wire::multiget::{Answer, COORDINATOR_IP, OnBehalf, Op, View};
use netkv_wire::{Key, client_of_ip};
use netkv_workload::{WireKey, key_of_wire};

use super::super::mutation;
use super::super::results::send_written;
use super::{Asker, Call, Server};
use crate::common::window::{Seen, Window};
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult};

/// A write from its arrival to its reply.
#[derive(Debug)]
pub(super) struct Write {
    asker: Asker,
    /// Whose write it is.
    origin: OnBehalf,
    key: Key,
    name: WireKey,
    value: Vec<u8>,
}

impl Server {
    /// Whose write this is; none if that is not known.
    fn origin_of(&self, view: &View<'_>) -> Option<OnBehalf> {
        let request = view.header().id;
        match view.source() {
            COORDINATOR_IP if self.mutated.by(mutation::ServerNumbersByCoordinator) => {
                Some(OnBehalf { client: u16::MAX, request })
            }
            COORDINATOR_IP => view.on_behalf(),
            ip => client_of_ip(ip).map(|client| OnBehalf { client, request }),
        }
    }

    pub(super) fn on_write(
        &mut self,
        now: Nanos,
        view: &View<'_>,
        asker: Asker,
        out: &mut Actions,
    ) {
        let name = view.asked().next().and_then(WireKey::new);
        let (Some(origin), Some(name)) = (self.origin_of(view), name) else {
            self.stats.unexpected += 1;
            return;
        };
        self.stats.served += 1;
        let count = match asker.header.op {
            Op::Put => &mut self.stats.writes,
            _ => &mut self.stats.deletes,
        };
        *count += 1;
        let OnBehalf { client, request } = origin;
        let second = self.config.second(now);
        let window = self.windows.entry(client).or_insert_with(|| Window::new(request, second));
        let plainly_late = request < window.newest();
        let mut seen = window.look(request, second);
        if plainly_late && self.mutated.by(mutation::ServerPlainNumbers) {
            seen = Seen::Late;
        }
        let repeat = match seen {
            Seen::New => true,
            Seen::Late => self.mutated.by(mutation::RepeatLateWrites),
            Seen::UnderWay | Seen::Ended(_) => self.mutated.by(mutation::RepeatWrites),
        };
        if !repeat {
            self.on_copy(&asker, &name, seen, out);
            return;
        }
        let key = key_of_wire(name.as_bytes(), self.config.layout.key_size);
        let waiting = self.waiting.get(&key).map(|waiting| waiting.len());
        if waiting.is_some_and(|waiting| waiting >= self.config.max_waiting) {
            // Not remembered as seen: the retry may find room.
            self.stats.overloaded += 1;
            self.copies.forget(asker.request());
            self.answer(&asker, Answer::Overloaded, out);
            return;
        }
        self.note(origin, Seen::UnderWay);
        let write = Write { asker, origin, key, name, value: view.value().to_vec() };
        match self.waiting.get_mut(&key) {
            Some(waiting) if !self.mutated.by(mutation::OvertakeWrites) => waiting.push_back(write),
            _ => self.store(now, write, out),
        }
    }

    /// A copy has no effect on the store. Whoever sent it is told how the write ended.
    fn on_copy(&mut self, asker: &Asker, name: &WireKey, seen: Seen<Answer>, out: &mut Actions) {
        match seen {
            Seen::Ended(answer) if !self.mutated.by(mutation::LeaveCopiesUnanswered) => {
                self.stats.duplicates += 1;
                self.answer_write(asker, name, answer, out);
            }
            Seen::Late => self.stats.late += 1,
            // It is answered when it is done; whoever else waits for it asks again.
            Seen::New | Seen::UnderWay | Seen::Ended(_) => self.stats.duplicates += 1,
        }
    }

    /// Hands a write to the store; others of its key wait from now on.
    fn store(&mut self, now: Nanos, write: Write, out: &mut Actions) {
        self.waiting.entry(write.key).or_default();
        let op = if write.asker.header.op == Op::Put { StoreOp::Put } else { StoreOp::Delete };
        if self.mutated.by(mutation::AnswerBeforeStored) {
            self.answer_write(&write.asker, &write.name, Answer::Ok, out);
        }
        let OnBehalf { client: sender, request } = write.origin;
        let origin = Some(Origin { sender, request, second: self.config.second(now) });
        let id = self.calls.add(Call::Write(Box::new(write)));
        let Some(Call::Write(write)) = self.calls.get(id) else { return };
        let (name, value) = (write.name.as_bytes(), &write.value);
        out.call(&StoreCall { op, name, value, origin, ..StoreCall::get(id, write.key) });
    }

    /// The store has ended a write.
    pub(super) fn on_written(
        &mut self,
        now: Nanos,
        write: Write,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let answer = match result {
            StoreResult::Failed if !self.mutated.by(mutation::AnswerFailuresAsDone) => {
                Answer::Failed
            }
            _ => Answer::Ok,
        };
        self.note(write.origin, Seen::Ended(answer));
        self.answer_write(&write.asker, &write.name, answer, out);
        match self.waiting.get_mut(&write.key).and_then(|waiting| waiting.pop_front()) {
            Some(next) => self.store(now, next, out),
            None => {
                self.waiting.remove(&write.key);
            }
        }
    }

    /// Remembers what has become of a write.
    fn note(&mut self, origin: OnBehalf, seen: Seen<Answer>) {
        if let Some(window) = self.windows.get_mut(&origin.client) {
            window.set(origin.request, seen);
        }
    }

    fn answer_write(&self, asker: &Asker, name: &WireKey, answer: Answer, out: &mut Actions) {
        let addresses = self.addresses_to(asker);
        send_written(&addresses, &asker.header, name.as_bytes(), answer, out);
    }
}
