//! Records of a write-back cache (FarReach; docs/farreach.md, "Server").
//!
//! Rules
//! -----
//! 1. Of all writes of a key the one with the newest sequence stays, in whatever order they come: a
//!    write that is not newer than what is stored has no effect, and is answered ok, since it was
//!    overwritten before it came. Deletes leave a tombstone. The stored sequence is known before a
//!    write is carried out: the server has it in mind, or asks the store.
//! 2. A write without effect is remembered in the store like one with: a copy of it may have got a
//!    newer sequence from the switch, and must not be carried out by a server that has started again.
//! 3. Replies tell the sequence of the stored record after the request, so that the switch sees when
//!    its entry is out of date, and the generation that the request came with.
//! 4. A read that carries the switch's record is answered with the newer of the two. The embedded one
//!    is not stored: the controller sees to that.
//! 5. A write that was sent first in an earlier life of the switch, and of which nothing is known, is
//!    answered "unknown": the switch may have carried it out before it lost its memory.
//! 6. RESTORE is a write like any other, but not remembered: its copy is not newer than itself. It is
//!    answered when the store has it, and so is FETCH, a read. Where the store fails they get no
//!    answer, so that the controller asks again.
//!
//! Where it lives: this module has rules 1, 2, 5 and 6, `queries` rules 3 and 4; `offers` and
//! `tombstones` have what else is FarReach's alone; `requests` calls them.

use netkv_wire::{FrameView, Key, MAX_VALUE, Op, Sequence, Stamp, Status, bits};

use super::Server;
use super::state::{Call, Step, Write};
use super::window::Seen;
use crate::mutation::Mutation;
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult, is_reserved};

impl Server {
    /// Whether a client's request can have passed a switch that writes back: it is stamped, and if
    /// it is a write, the switch has numbered it.
    pub(super) fn is_numbered(&self, frame: &FrameView<'_>) -> bool {
        let numbered = |stamp: Stamp| !frame.op().is_write() || stamp.sequence.number != 0;
        frame.stamp().is_some_and(numbered)
    }

    /// Whether nobody can tell if a write that nothing is known of was carried out (rule 5).
    pub(super) fn is_unknown(&self, frame: &FrameView<'_>, seen: Seen<Status>) -> bool {
        let past = frame.stamp().is_some_and(|stamp| stamp.has(bits::PAST));
        past && seen == Seen::New && !self.mutated.by(Mutation::DoPastWrites)
    }

    /// The controller wants a record to be stored, unless there is a newer one (rule 6).
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
            // It comes again.
            self.stats.overloaded += 1;
            return;
        }
        let write = self.write_of(now, frame);
        self.take_up(now, &key, write, out);
    }

    /// Begins with a write: what is stored must be known (rule 1).
    pub(super) fn start_guarded(&mut self, now: Nanos, key: &Key, write: Write, out: &mut Actions) {
        if let Some(stored) = self.sequences.get(key) {
            self.guard(now, key, write, stored, out);
            return;
        }
        let call = self.calls.add(Call::Key(*key));
        out.get(call, *key);
        self.set_step(key, Step::Looking(write));
    }

    /// The store has told the sequence of a key that is to be written.
    pub(super) fn on_looked(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write,
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
        self.sequences.set(key, stored);
        self.guard(now, key, write, stored, out);
    }

    /// Carries a write out if it is newer than what is stored.
    fn guard(&mut self, now: Nanos, key: &Key, write: Write, stored: Sequence, out: &mut Actions) {
        let restore = write.op == Op::Restore;
        let unguarded = if restore { Mutation::RestoreAnything } else { Mutation::StoreUnguarded };
        let newer = self.is_later(write.stamp.sequence, stored) || self.mutated.by(unguarded);
        let early =
            if restore { Mutation::AnswerRestoreEarly } else { Mutation::AnswerBeforeStored };
        if self.mutated.by(early) {
            let sequence = stored.later(write.stamp.sequence);
            self.answer_guarded(key, &write, Status::Ok, sequence, out);
        }
        if restore && !newer {
            self.end(key, write, Status::Ok, stored, out);
            return;
        }
        let (sender, request) = (write.sender, write.request);
        let origin = (!restore && (newer || !self.mutated.by(Mutation::ForgetGuarded)))
            .then(|| Origin { sender, request, second: self.config.second(now) });
        let id = self.calls.add(Call::Key(*key));
        if newer {
            let deletes = write.deletes();
            let op = if deletes { StoreOp::Delete } else { StoreOp::Put };
            let grave = !deletes || !self.mutated.by(Mutation::LeaveNoTombstones);
            let sequence = grave.then_some(write.stamp.sequence);
            let value = &write.value;
            out.call(&StoreCall { op, value, origin, sequence, ..StoreCall::get(id, *key) });
            self.set_step(key, Step::Writing(write));
        } else {
            self.stats.guarded += 1;
            out.call(&StoreCall { origin, ..StoreCall::get(id, *key) });
            self.set_step(key, Step::Noting(write));
        }
    }

    /// The store has a write.
    pub(super) fn on_written(
        &mut self,
        now: Nanos,
        key: &Key,
        mut write: Write,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        if result == StoreResult::Failed {
            self.end(key, write, Status::Rejected, Sequence::default(), out);
            return;
        }
        let Stamp { sequence, bits, .. } = write.stamp;
        self.sequences.set(key, sequence);
        if write.op == Op::Restore {
            self.stats.restored += 1;
        }
        if write.deletes() {
            self.tombstones.add(now, key, sequence);
        } else {
            self.tombstones.overwritten(key);
        }
        let hot = write.op == Op::Put && bits & bits::HOT != 0;
        let value = std::mem::take(&mut write.value);
        self.end(key, write, Status::Ok, sequence, out);
        if hot {
            self.offer(now, key, sequence, Some(&value), out);
        }
        self.recycle(value);
    }

    /// The store remembers a write that had no effect, and tells what is there instead.
    pub(super) fn on_noted(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write,
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
        let hot = write.stamp.has(bits::HOT);
        self.end(key, write, Status::Ok, sequence, out);
        if hot {
            self.offer(now, key, sequence, found, out);
        }
    }

    /// Answers a write, whose copies will be answered alike.
    fn end(
        &mut self,
        key: &Key,
        write: Write,
        status: Status,
        sequence: Sequence,
        out: &mut Actions,
    ) {
        if write.op != Op::Restore
            && let Some(window) = self.windows.get_mut(&write.sender)
        {
            window.set(write.request, Seen::Ended(status));
        }
        if write.op != Op::Restore || status == Status::Ok {
            self.answer_guarded(key, &write, status, sequence, out);
        }
        self.recycle(write.value);
    }

    fn answer_guarded(
        &self,
        key: &Key,
        write: &Write,
        status: Status,
        sequence: Sequence,
        out: &mut Actions,
    ) {
        let stamp = Stamp { sequence, generation: write.stamp.generation, bits: 0 };
        out.send(&self.reply_to_write(key, write, status).with_stamp(stamp));
    }

    /// Whether one sequence is newer than another.
    pub(super) fn is_later(&self, one: Sequence, other: Sequence) -> bool {
        if self.mutated.by(Mutation::PlainSequences) {
            return (one.life, one.number) > (other.life, other.number);
        }
        one.is_newer(other)
    }
}
