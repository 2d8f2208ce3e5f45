//! Messages of the controller about an entry.

use netkv_dataplane::Output;
use netkv_wire::{Sequence, Status, bits};

use super::FarReach;
use super::entries::{Validity, is_newer};
use super::message::{COUNT, EVICT, FILL, LOAD, Message, RETIRE, VALIDATE};
use super::requests::report_bits;
use crate::handwritten::Drop;

impl FarReach {
    /// Messages change the state of an entry in one direction only, so a late copy, which is about
    /// an earlier generation, changes nothing.
    pub(super) fn control(
        &mut self,
        from: u16,
        message: &Message<'_>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        self.destination(message)?; // a message for a key without an owner is dropped
        let (number, generation) = (message.slot.entry, message.stamp.generation);
        let epoch = self.settings.epoch;
        let entry = self.entries.entry_mut(number);
        let Some(validity) = entry.validity_of(generation) else {
            let is_filled = message.op == FILL && is_newer(generation, entry.generation);
            if is_filled {
                self.fill(message);
            }
            let status = if is_filled { Status::Ok } else { Status::Stale };
            self.answer_control(from, message, status, message.slot.number, out);
            return Ok(());
        };
        if !entry.is_retired {
            match message.op {
                VALIDATE if validity == Validity::Invalid => entry.validity = Validity::Valid,
                EVICT => entry.validity = Validity::ToBeEvicted,
                RETIRE => (entry.validity, entry.is_retired) = (Validity::Invalid, true),
                _ => {}
            }
        }
        if message.op == EVICT || message.op == LOAD {
            let (stored, reported) = (entry.stored, entry.reported_snapshot);
            let is_overwritten = reported != 0 && reported == message.slot.number;
            let bits = report_bits(&stored, validity != Validity::Invalid)
                | if is_overwritten { bits::OVERWRITTEN } else { 0 };
            self.report_record(from, message, &stored, bits, out);
            return Ok(());
        }
        let slot_number = match message.op {
            COUNT => entry.counted(epoch).into(),
            _ => message.slot.number,
        };
        self.answer_control(from, message, Status::Ok, slot_number, out);
        Ok(())
    }

    /// Writes a record into an entry, which may not answer reads with it yet.
    fn fill(&mut self, message: &Message<'_>) {
        let Some(record) = message.record else { return };
        let stamp = message.stamp;
        let sequence = Sequence {
            incarnation: stamp.sequence.incarnation,
            number: self.number_of(stamp.sequence),
        };
        let entry = self.entries.entry_mut(message.slot.entry);
        entry.generation = stamp.generation;
        entry.validity = if stamp.has(bits::VALID) { Validity::Valid } else { Validity::Invalid };
        entry.is_retired = false;
        entry.max_sequence = stamp.sequence;
        entry.reported_snapshot = 0;
        entry.reset_count();
        self.entries.store(message.slot.entry, record, sequence, (false, false), message.value);
    }
}
