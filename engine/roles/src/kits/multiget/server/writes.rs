//! Writes, each of which takes effect once.

use netkv_wire::client_of_ip;
use netkv_wire::multiget::{Answer, COORDINATOR_IP, OnBehalf, Op, View};
use netkv_workload::{WireKey, key_of_wire};

use super::state::{Call, Requester, Server, Write};
use crate::common::window::{Seen, Window};
use crate::kits::multiget::results::send_written;
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult};

impl Server {
    /// The client and request of a write; none if the frame does not name them.
    fn origin_of(&self, view: &View<'_>) -> Option<OnBehalf> {
        let request = view.header().id;
        match view.source() {
            COORDINATOR_IP => view.on_behalf(),
            ip => client_of_ip(ip).map(|client| OnBehalf { client, request }),
        }
    }

    pub(super) fn on_write(
        &mut self,
        now: Nanos,
        view: &View<'_>,
        requester: Requester,
        out: &mut Actions,
    ) {
        let name = view.asked().next().and_then(WireKey::new);
        let (Some(origin), Some(name)) = (self.origin_of(view), name) else {
            self.stats.unexpected += 1;
            return;
        };
        self.stats.served += 1;
        let count = match requester.header.op {
            Op::Put => &mut self.stats.writes,
            _ => &mut self.stats.deletes,
        };
        *count += 1;
        let OnBehalf { client, request } = origin;
        let second = self.config.second(now);
        let window = self.windows.entry(client).or_insert_with(|| Window::new(request, second));
        let seen = window.look(request, second);
        if seen != Seen::New {
            self.on_copy(&requester, &name, seen, out);
            return;
        }
        let key = key_of_wire(name.as_bytes(), self.config.layout.key_size);
        let waiting = self.waiting.get(&key).map(|waiting| waiting.len());
        if waiting.is_some_and(|waiting| waiting >= self.config.max_waiting) {
            // Not recorded in the window, so that a retry may succeed.
            self.stats.overloaded += 1;
            self.copies.forget(requester.request());
            self.answer(&requester, Answer::Overloaded, out);
            return;
        }
        self.note(origin, Seen::UnderWay);
        let write = Write { requester, origin, key, name, value: view.value().to_vec() };
        match self.waiting.get_mut(&key) {
            Some(waiting) => waiting.push_back(write),
            None => self.store(now, write, out),
        }
    }

    /// A copy has no effect on the store. Its sender gets the result of the write.
    fn on_copy(
        &mut self,
        requester: &Requester,
        name: &WireKey,
        seen: Seen<Answer>,
        out: &mut Actions,
    ) {
        match seen {
            Seen::Ended(answer) => {
                self.stats.duplicates += 1;
                self.answer_write(requester, name, answer, out);
            }
            Seen::Late => self.stats.late += 1,
            // The write is answered to its first sender when it is done; another sender retries.
            Seen::New | Seen::UnderWay => self.stats.duplicates += 1,
        }
    }

    /// Hands a write to the store; other writes of its key wait from now on.
    fn store(&mut self, now: Nanos, write: Write, out: &mut Actions) {
        self.waiting.entry(write.key).or_default();
        let op = if write.requester.header.op == Op::Put { StoreOp::Put } else { StoreOp::Delete };
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
            StoreResult::Failed => Answer::Failed,
            _ => Answer::Ok,
        };
        self.note(write.origin, Seen::Ended(answer));
        self.answer_write(&write.requester, &write.name, answer, out);
        match self.waiting.get_mut(&write.key).and_then(|waiting| waiting.pop_front()) {
            Some(next) => self.store(now, next, out),
            None => {
                self.waiting.remove(&write.key);
            }
        }
    }

    /// Records the state of a write.
    fn note(&mut self, origin: OnBehalf, seen: Seen<Answer>) {
        if let Some(window) = self.windows.get_mut(&origin.client) {
            window.set(origin.request, seen);
        }
    }

    fn answer_write(
        &self,
        requester: &Requester,
        name: &WireKey,
        answer: Answer,
        out: &mut Actions,
    ) {
        let addresses = self.addresses_to(requester);
        send_written(&addresses, &requester.header, name.as_bytes(), answer, out);
    }
}
