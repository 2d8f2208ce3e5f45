//! Reads of several keys.

use netkv_wire::multiget::{Answer, View};
use netkv_workload::{WireKey, key_of_wire};

use super::state::{Call, Reading, Requester, Server};
use crate::{Actions, Nanos, StoreCall, StoreResult};

impl Server {
    /// Serves a read at once, without waiting for writes of its keys.
    pub(super) fn on_read(&mut self, view: &View<'_>, requester: Requester, out: &mut Actions) {
        let keys = usize::from(requester.header.numkey);
        if self.reading + keys > self.config.max_reading {
            self.stats.overloaded += 1;
            self.copies.forget(requester.request());
            self.answer(&requester, Answer::Overloaded, out);
            return;
        }
        let mut results = self.spare_results.pop().unwrap_or_default();
        results.clear();
        view.asked().filter_map(WireKey::new).for_each(|name| results.push(name));
        self.stats.served += 1;
        self.stats.reads += 1;
        self.keys_read += keys as u64;
        self.reading += keys;
        let read = self.reads.add(Reading { requester, results, left: keys, failed: false });
        let Some(reading) = self.reads.get(read) else { return };
        for at in 0..keys {
            let name = reading.results.name(at).as_bytes();
            let key = key_of_wire(name, self.config.layout.key_size);
            let id = self.calls.add(Call::Read(read, at));
            out.call(&StoreCall { name, ..StoreCall::get(id, key) });
        }
    }

    /// The store has answered for a key of a read.
    pub(super) fn on_key_read(
        &mut self,
        now: Nanos,
        read: u32,
        at: usize,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let Some(reading) = self.reads.get_mut(read) else { return };
        let known = match result {
            StoreResult::Value(value, _) => reading.results.set(at, Some(value)),
            StoreResult::NotFound(_) => reading.results.set(at, None),
            StoreResult::Done | StoreResult::Failed => false,
        };
        reading.failed |= !known;
        reading.left -= 1;
        self.reading -= 1;
        if reading.left > 0 {
            return;
        }
        let Some(Reading { requester, results, failed, .. }) = self.reads.take(read) else {
            return;
        };
        self.copies.end(now, requester.request());
        if failed {
            self.answer(&requester, Answer::Failed, out);
        } else {
            let (start, all) = (requester.header.startidx, 0..results.len());
            results.send(&self.addresses_to(&requester), &requester.header, start, all, out);
        }
        if self.spare_results.len() < 1024 {
            self.spare_results.push(results);
        }
    }
}
