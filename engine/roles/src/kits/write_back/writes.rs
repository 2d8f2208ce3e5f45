//! Writes and RESTOREs: the store keeps the newest of each key (rules 1, 2, 5 and 6).

use netkv_wire::{FrameView, Key, MAX_VALUE, Op, Sequence, Stamp, Status, bits};

use super::state::{Server, Step};
use crate::common::window::Seen;
use crate::kits::single_key::server::Write;
use crate::kits::single_key::server::state::Call;
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult, is_reserved};

/// Whether a write deletes the key.
fn deletes(write: &Write<Stamp>) -> bool {
    match write.op {
        Op::Restore => write.tag.has(bits::DELETED),
        op => op == Op::Delete,
    }
}

impl Server {
    /// The controller restores a record, unless the stored one is newer (rule 6).
    pub(super) fn on_restore(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        if frame.stamp().is_none() {
            self.stats.malformed += 1;
            return;
        }
        let key = frame.key();
        let refused = match frame.value().len() {
            _ if is_reserved(&key) => Some(Status::Rejected),
            length if length > MAX_VALUE => Some(Status::TooLarge),
            _ => None,
        };
        if let Some(status) = refused {
            self.stats.unexpected += 1;
            self.refuse(frame, status, out);
            return;
        }
        if self.is_full(&key) {
            // The controller sends it again.
            self.stats.overloaded += 1;
            return;
        }
        let write = self.write_of(now, frame);
        self.accept_write(now, &key, write, out);
    }

    /// Starts a write. If the stored sequence is unknown, the store is read first (rule 1).
    pub(super) fn start_guarded(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Stamp>,
        out: &mut Actions,
    ) {
        if let Some(stored) = self.protocol.sequences.get(key) {
            self.guard(now, key, write, stored, out);
            return;
        }
        self.get_for_step(key, Step::Looking(write), out);
    }

    /// The store has answered with the sequence of a key that is to be written.
    pub(super) fn on_looked(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Stamp>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let stored = match result {
            StoreResult::Value(_, sequence) => sequence,
            StoreResult::NotFound(sequence) => {
                self.note_tombstone(now, key, sequence);
                sequence
            }
            StoreResult::Done | StoreResult::Failed => {
                self.end(key, write, Status::Rejected, Sequence::default(), out);
                return;
            }
        };
        self.protocol.sequences.set(key, stored);
        self.guard(now, key, write, stored, out);
    }

    /// Stores a write if it is newer than the stored record.
    fn guard(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Stamp>,
        stored: Sequence,
        out: &mut Actions,
    ) {
        let restore = write.op == Op::Restore;
        let newer = write.tag.sequence.is_newer(stored);
        if restore && !newer {
            self.end(key, write, Status::Ok, stored, out);
            return;
        }
        let (sender, request) = (write.sender, write.request);
        let origin =
            (!restore).then(|| Origin { sender, request, second: self.config.second(now) });
        let id = self.calls.add(Call::Key(*key));
        if newer {
            let deletes = deletes(&write);
            let op = if deletes { StoreOp::Delete } else { StoreOp::Put };
            let (value, sequence) = (&write.value, Some(write.tag.sequence));
            out.call(&StoreCall { op, value, origin, sequence, ..StoreCall::get(id, *key) });
            self.set_step(key, Step::Writing(write));
        } else {
            self.protocol.stats.guarded += 1;
            out.call(&StoreCall { origin, ..StoreCall::get(id, *key) });
            self.set_step(key, Step::Noting(write));
        }
    }

    /// The store has a write.
    pub(super) fn on_written(
        &mut self,
        now: Nanos,
        key: &Key,
        mut write: Write<Stamp>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        if result == StoreResult::Failed {
            self.end(key, write, Status::Rejected, Sequence::default(), out);
            return;
        }
        let Stamp { sequence, bits, .. } = write.tag;
        self.protocol.sequences.set(key, sequence);
        if write.op == Op::Restore {
            self.protocol.stats.restored += 1;
        }
        if deletes(&write) {
            self.protocol.tombstones.add(now, key, sequence);
        } else {
            self.protocol.tombstones.overwritten(key);
        }
        let hot = write.op == Op::Put && bits & bits::HOT != 0;
        let value = std::mem::take(&mut write.value);
        self.end(key, write, Status::Ok, sequence, out);
        if hot {
            self.offer(now, key, sequence, Some(&value), out);
        }
        self.recycle(value);
    }

    /// The store has recorded a write without effect, and has answered with the stored record.
    pub(super) fn on_noted(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Stamp>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let (found, sequence) = match result {
            StoreResult::Value(value, sequence) => (Some(value), sequence),
            StoreResult::NotFound(sequence) => (None, sequence),
            StoreResult::Done | StoreResult::Failed => {
                self.end(key, write, Status::Rejected, Sequence::default(), out);
                return;
            }
        };
        let hot = write.tag.has(bits::HOT);
        self.end(key, write, Status::Ok, sequence, out);
        if hot {
            self.offer(now, key, sequence, found, out);
        }
    }

    /// Answers a write, and records the answer for its copies.
    fn end(
        &mut self,
        key: &Key,
        write: Write<Stamp>,
        status: Status,
        sequence: Sequence,
        out: &mut Actions,
    ) {
        if write.op != Op::Restore {
            self.note(write.sender, write.request, Seen::Ended(status));
        }
        if write.op != Op::Restore || status == Status::Ok {
            self.answer_guarded(key, &write, status, sequence, out);
        }
        self.recycle(write.value);
    }

    fn answer_guarded(
        &self,
        key: &Key,
        write: &Write<Stamp>,
        status: Status,
        sequence: Sequence,
        out: &mut Actions,
    ) {
        let stamp = Stamp { sequence, generation: write.tag.generation, bits: 0 };
        out.send(&self.reply_to_write(key, write, status).with_stamp(stamp));
    }
}
