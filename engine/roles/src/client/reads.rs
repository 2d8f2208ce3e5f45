//! Answers to reads, and what the checker thinks of them.

use netkv_checker::{Answer, Observed, Verdict, WriteId};
use netkv_wire::{FrameView, Status};

use super::Client;
use super::requests::Request;
use crate::{Nanos, read_writer};

impl Client {
    pub(super) fn on_read(
        &mut self,
        now: Nanos,
        request: &mut Request,
        frame: &FrameView<'_>,
        refused: bool,
    ) {
        if !refused {
            self.keep_read(request, frame);
        }
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
}
