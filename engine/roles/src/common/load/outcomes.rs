//! Starts the operations of a load, and records how they end.

use netkv_checker::WriteKind;
use netkv_workload::{OpKind, Operation, key_id, key_of};

use super::judge::Read;
use super::{Load, Phase};
use crate::common::senders::Senders;
use crate::common::source::{Asked, Source, Tag, UnderWay};
use crate::{ClientCounts, Nanos, fill_value};

/// Reads of a verification under way at a time, and how long one may take.
const VERIFYING: usize = 64;
const VERIFY_DEADLINE: Nanos = 10 * crate::SECOND;

impl<O: UnderWay> Source<O> for Load {
    fn counts(&self) -> &ClientCounts {
        &self.stats.counts
    }

    fn counts_mut(&mut self) -> &mut ClientCounts {
        &mut self.stats.counts
    }

    fn due(&self) -> Nanos {
        self.next_arrival
    }

    fn poll(&mut self, now: Nanos) {
        self.arrive(now);
    }

    #[inline(always)]
    fn next(
        &mut self,
        now: Nanos,
        outstanding: usize,
        mut has_room: impl FnMut() -> bool,
        make: impl FnOnce(&Self, Operation, Tag, Nanos) -> O,
    ) -> Option<O> {
        if self.phase == Phase::Verifying {
            let has_room = outstanding < VERIFYING && has_room();
            let key = self.verification.as_mut().filter(|_| has_room)?.take(&self.judge)?;
            let (kind, id) = (OpKind::Read, key_id(&key).unwrap_or(u64::MAX));
            self.ids.clear();
            self.ids.push(id);
            let operation = Operation { kind, id, key, size: 0, conditional: false };
            let tag = Tag { kind, number: id, verifies: true, intended: now };
            return Some(make(self, operation, tag, now + VERIFY_DEADLINE));
        }
        let intended = self.next_start(now, outstanding, has_room)?;
        let closed = self.is_closed();
        let operation = O::draw(&mut self.workload, closed, &mut self.ids);
        let (kind, number) = (operation.kind, operation.id);
        let tag = Tag { kind, number, verifies: false, intended };
        Some(make(self, operation, tag, intended + self.config.deadline))
    }

    #[inline]
    fn begin(&mut self, now: Nanos, operation: &mut O) {
        let (id, reads) = (operation.id(), operation.reads());
        let deletes = operation.tag().kind == OpKind::Delete;
        let kind = if deletes { WriteKind::Delete } else { WriteKind::Put };
        for Asked { key, exists, ticket } in operation.keys() {
            if reads {
                *ticket = self.judge.begin_read(now, key);
            } else {
                self.judge.begin_write(now, key, id, kind, exists);
            }
        }
    }

    #[inline]
    fn fill(&self, operation: &O, value: &mut [u8]) {
        fill_value(operation.key(), operation.id(), value);
    }

    fn on_value(
        &mut self,
        now: Nanos,
        operation: &mut O,
        index: usize,
        value: Option<&[u8]>,
        senders: &Senders,
    ) {
        let (reader, Tag { verifies, .. }) = (operation.id(), operation.tag());
        self.stats.counts.not_found += u64::from(value.is_none() && !verifies);
        let Some(Asked { key, exists, ticket }) = operation.keys().nth(index) else { return };
        let Some(ticket) = ticket.take() else { return };
        let read = Read { key, ticket, reader, value, exists, verifies };
        let lost = self.judge.end_read(now, &read, senders, &mut self.stats.counts);
        if let Some(verification) = self.verification.as_mut().filter(|_| lost) {
            verification.lost();
        }
    }

    fn on_done(&mut self, now: Nanos, operation: &O, _: bool, hit: bool, goes_on: bool) {
        if !operation.reads() {
            self.judge.end_write(now, operation.key(), operation.id());
        }
        self.count(operation, hit);
        if !goes_on {
            self.settle(operation.tag());
            self.complete(now, operation.tag(), true);
        }
    }

    fn on_refused(&mut self, now: Nanos, operation: &mut O, hit: bool, _: &str) {
        self.count(operation, hit);
        self.give_up(operation);
        self.stats.counts.errors += 1;
        self.complete(now, operation.tag(), false);
    }

    fn on_conflict(&mut self, now: Nanos, operation: &mut O, certain: bool) {
        self.count(operation, false);
        let counts = &mut self.stats.counts;
        counts.conflicts += 1;
        if certain {
            self.judge.refuse_write(now, operation.key(), operation.id(), counts);
            self.settle(operation.tag());
        } else {
            self.give_up(operation);
        }
        self.complete(now, operation.tag(), true);
    }

    fn on_unknown(&mut self, operation: &mut O) {
        self.stats.counts.unknown += 1;
        self.give_up(operation);
    }

    fn on_lost(&mut self, operation: &mut O) {
        self.give_up(operation);
        if operation.tag().verifies {
            self.verify_ended(false);
        } else {
            self.stats.counts.lost += 1;
            self.end_thread(operation.tag());
        }
    }

    fn leave(&mut self) {
        self.pause();
    }
}

impl Load {
    /// Counts an answered operation, or half of a read-modify-write.
    #[inline]
    fn count(&mut self, operation: &impl UnderWay, hit: bool) {
        let (counts, reads) = (&mut self.stats.counts, operation.reads());
        if !operation.tag().verifies {
            counts.reads += u64::from(reads);
            counts.hits += u64::from(reads && hit);
            counts.writes += u64::from(!reads);
        }
    }

    /// It is unknown what an operation has done to its unanswered keys.
    fn give_up(&mut self, operation: &mut impl UnderWay) {
        let (id, reads) = (operation.id(), operation.reads());
        for Asked { key, ticket, .. } in operation.keys() {
            match (*ticket, reads) {
                (Some(ticket), _) => self.judge.give_up_read(key, ticket),
                (None, true) => {}
                (None, false) => self.judge.give_up_write(key, id),
            }
        }
        self.settle(operation.tag());
    }

    /// An insert has ended, so read-latest may read its key.
    #[inline]
    fn settle(&mut self, tag: Tag) {
        if tag.kind == OpKind::Insert && self.phase != Phase::Verifying {
            self.workload.settle_insert(tag.number);
        }
    }

    /// An operation has ended with an answer; one of the verification has `read` its key.
    #[inline]
    fn complete(&mut self, now: Nanos, tag: Tag, read: bool) {
        if tag.verifies {
            self.verify_ended(read);
            return;
        }
        self.end_thread(tag);
        self.stats.counts.completed += 1;
        let latency = now.saturating_sub(tag.intended).max(1);
        self.stats.latency.saturating_record(latency);
        if let Some(turn) = self.workload.turn() {
            if turn.is_of_first(&key_of(tag.number)) {
                self.stats.counts.completed_of_first += 1;
            } else {
                self.stats.of_other().saturating_record(latency);
            }
        }
    }

    /// The thread of an operation that has ended may start the next one.
    fn end_thread(&mut self, tag: Tag) {
        self.threads.end(tag.intended);
    }

    fn verify_ended(&mut self, read: bool) {
        if let Some(verification) = &mut self.verification {
            verification.ended(read);
        }
    }
}
