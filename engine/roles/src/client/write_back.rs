//! What a client process adds for a write-back cache: it keeps what only the switch has, and takes
//! no answer of the switch that it could not keep.

use netkv_wire::{FrameView, MAX_CACHED_VALUE, Op, Sequence, Stamp, Status, bits};

use super::control::Process;
use super::preserved::Records;
use super::requests::Request;
use super::{Client, ClientConfig};
use crate::mutation::{Mutated, Mutation};
use crate::{Actions, Nanos, fill_value};

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// It counts.
    Yes,
    /// It does not: the request goes on, and is sent again.
    No,
    /// No switch answers like that.
    Malformed,
}

/// What a process knows of a write-back cache.
#[derive(Debug)]
pub(super) struct WriteBack {
    pub(super) process: Process,
    pub(super) records: Records,
}

impl WriteBack {
    pub(super) fn new(config: &ClientConfig) -> Self {
        let process = Process::new(config.first_client, config.first_request, config.retry);
        Self { process, records: Records::default() }
    }

    /// The process has died, and another one begins in its place.
    pub(super) fn begin_again(&mut self) {
        self.process.begin_again();
        self.records.clear();
    }

    /// Whether an answer counts. One that says what only the switch has does not if that switch is
    /// dead, since what it said is not among what was told; nor if it is a record, and the
    /// controller would not come to ask for it. `written` is the length of the value to be written.
    fn take(&self, frame: &FrameView<'_>, written: usize, mutated: Mutated) -> Take {
        let Some(stamp) = of_switch(frame) else {
            return if frame.cache_hit() { Take::Malformed } else { Take::Yes };
        };
        if frame.value().len().max(written) > MAX_CACHED_VALUE {
            return Take::Malformed;
        }
        let dirty = is_dirty(frame, stamp, mutated);
        let clean = mutated.by(Mutation::ClientIgnoresCleanRecords);
        let past = (dirty || clean || frame.op() != Op::GetReply)
            && self.process.is_past(stamp.sequence.life, mutated)
            && !mutated.by(Mutation::ClientTakesPastAnswers);
        let alone = dirty
            && !self.process.is_welcome()
            && !mutated.by(Mutation::ClientTakesWhatNobodyCollects);
        if past || alone { Take::No } else { Take::Yes }
    }
}

/// The stamp of an answer that says what the switch has: a write that it has applied, a record that
/// it answers with, or one that it has given to the server for its answer.
fn of_switch(frame: &FrameView<'_>) -> Option<Stamp> {
    let stamp = frame.stamp()?;
    (frame.cache_hit() || stamp.bits & bits::EMBEDDED != 0).then_some(stamp)
}

/// Whether the answer to a read is a record that only the switch has.
fn is_dirty(frame: &FrameView<'_>, stamp: Stamp, mutated: Mutated) -> bool {
    let embedded = !mutated.by(Mutation::ClientKeepsNoEmbedded);
    stamp.bits & bits::EMBEDDED != 0 && embedded
        || frame.cache_hit() && stamp.bits & bits::DIRTY != 0
}

/// What a new request says of the life of the switch.
pub(super) const fn first_stamp(life: u32) -> Stamp {
    Stamp { sequence: Sequence { life, number: 0 }, generation: 0, bits: 0 }
}

impl Client {
    /// Whether an answer to the request in `slot` counts.
    pub(super) fn take(&self, slot: u32, frame: &FrameView<'_>) -> Take {
        let (Some(write_back), Some(request)) = (&self.write_back, &self.requests[slot as usize])
        else {
            return Take::Yes;
        };
        let written = if request.op == Op::Put { request.operation.size } else { 0 };
        write_back.take(frame, written, self.mutated)
    }

    /// A write was done; what only the switch has of it is kept.
    pub(super) fn keep_written(&mut self, request: &Request, frame: &FrameView<'_>) {
        let Some(write_back) = &mut self.write_back else { return };
        let Some(stamp) = of_switch(frame) else { return };
        let length = (request.op == Op::Put).then_some(request.operation.size as u16);
        if length.is_none() && self.mutated.by(Mutation::ClientKeepsNoDeletes) {
            return;
        }
        let (key, id) = (&request.operation.key, request.id());
        let fill = |value: &mut [u8]| match &request.asked {
            Some(asked) => value.copy_from_slice(&asked.value),
            None => fill_value(key, id, value),
        };
        write_back.records.keep(key, stamp.sequence, length, fill, self.mutated);
        self.count_kept();
    }

    /// A read was answered; what only the switch has of it is kept.
    pub(super) fn keep_read(&mut self, request: &Request, frame: &FrameView<'_>) {
        let Some(write_back) = &mut self.write_back else { return };
        let Some(stamp) = of_switch(frame) else { return };
        let (value, found) = (frame.value(), frame.status() == Status::Ok);
        if !is_dirty(frame, stamp, self.mutated)
            || self.mutated.by(Mutation::ClientKeepsNoReads)
            || !found && self.mutated.by(Mutation::ClientKeepsNoDeletes)
        {
            return;
        }
        let length = found.then_some(value.len() as u16);
        let fill = |slot: &mut [u8]| slot.copy_from_slice(value);
        let key = &request.operation.key;
        write_back.records.keep(key, stamp.sequence, length, fill, self.mutated);
        self.count_kept();
    }

    fn count_kept(&mut self) {
        let kept = self.preserved().records as u64;
        self.stats.counts.preserved = self.stats.counts.preserved.max(kept);
    }

    /// Takes a frame of the controller; false if it is none that is expected.
    pub(super) fn on_control(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) -> bool {
        let Some(write_back) = &mut self.write_back else { return false };
        let WriteBack { process, records } = &mut **write_back;
        process.on_frame(now, frame, records, out, self.mutated)
    }

    /// What is kept because only the switch has it, in no order. For tests.
    #[cfg(feature = "mutations")]
    pub fn kept(&self) -> Vec<(netkv_wire::Key, Sequence)> {
        let records = self.write_back.iter().flat_map(|it| it.records.iter());
        records.map(|kept| (kept.key, kept.sequence)).collect()
    }
}
