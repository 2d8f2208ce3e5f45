//! What leaves: requests for servers, replies of the switch, and reports for the controller.

use netkv_dataplane::Output;
use netkv_wire::{
    CONTROLLER_IP, CPU_PORT, IPV4_LEN, Mac, Op, SERVICE_IP, SLOT_LEN, STAMP_LEN, Sequence, Stamp,
    Status, bits, flags, mac_of,
};

use super::entries::{Entry, Stored};
use super::message::{Message, SLOT_END, STAMP_END};
use super::requests::report_bits;
use super::{Arrival, Destination, FarReach, write_other};
use crate::handwritten::layout::{
    DESTINATION, FLAGS, IPV4, KV_END, LENGTH, MAC_DESTINATION, MAC_SOURCE, OP, SOURCE, STATUS,
    TOTAL_LENGTH, UDP, UDP_LENGTH,
};
use crate::handwritten::{Owner, add_u16, copy, send, set_checksum};

const SERVICE_MAC: Mac = mac_of(SERVICE_IP);
const CONTROLLER_MAC: Mac = mac_of(CONTROLLER_IP);
/// How often an original record is sent to the controller, because frames get lost.
const ORIGINALS: usize = 3;

fn bytes_of(stamp: Stamp) -> [u8; STAMP_LEN] {
    let mut bytes = [0; STAMP_LEN];
    bytes[..4].copy_from_slice(&stamp.sequence.incarnation.to_be_bytes());
    bytes[4..8].copy_from_slice(&stamp.sequence.number.to_be_bytes());
    bytes[8..12].copy_from_slice(&stamp.generation.to_be_bytes());
    bytes[12] = stamp.bits;
    bytes
}

/// The fields of the kv header that a frame of the switch has of its own, and its version stamp.
struct Fields {
    op: u8,
    status: Status,
    flags: u8,
    length: u16,
    stamp: Stamp,
}

impl Fields {
    /// Writes the headers of a frame of the switch, which are those of `frame` otherwise: up to
    /// the version stamp.
    #[inline]
    fn write(&self, sent: &mut [u8], frame: &[u8]) {
        sent[..KV_END].copy_from_slice(&frame[..KV_END]);
        sent[OP] = self.op;
        sent[FLAGS] = self.flags;
        sent[STATUS] = self.status.code();
        copy(sent, LENGTH, &self.length.to_be_bytes());
        copy(sent, KV_END, &bytes_of(self.stamp));
    }
}

#[inline]
fn write_lengths(sent: &mut [u8], udp_length: u16) {
    copy(sent, UDP_LENGTH, &udp_length.to_be_bytes());
    copy(sent, TOTAL_LENGTH, &(IPV4_LEN as u16 + udp_length).to_be_bytes());
}

/// Addresses a reply, which comes from the service.
#[inline]
fn write_reply_addresses(sent: &mut [u8], frame: &[u8]) {
    copy(sent, MAC_DESTINATION, &frame[MAC_SOURCE..][..6]);
    copy(sent, MAC_SOURCE, &SERVICE_MAC);
    copy(sent, DESTINATION, &frame[SOURCE..][..4]);
    copy(sent, SOURCE, &SERVICE_IP);
}

impl FarReach {
    /// Forwards a request to the owner of its key, with this version stamp.
    #[inline]
    pub(super) fn forward(
        &self,
        from: u16,
        message: &Message<'_>,
        destination: &Destination,
        stamp: Stamp,
        out: &mut Output,
    ) {
        let frame = message.frame;
        send(out, from, destination.port, frame.len(), |sent| {
            sent.copy_from_slice(frame);
            copy(sent, KV_END, &bytes_of(stamp));
            copy(sent, MAC_DESTINATION, &destination.owner.mac);
            copy(sent, DESTINATION, &destination.owner.ip);
            set_checksum(&mut sent[IPV4..UDP]);
        });
    }

    /// Forwards a read with the record of its entry.
    pub(super) fn forward_with_record(
        &self,
        from: u16,
        message: &Message<'_>,
        destination: &Destination,
        stamp: Stamp,
        (entry, stored): (u16, Stored),
        out: &mut Output,
    ) {
        let value = self.entries.value(entry, stored.bytes());
        let deleted = if stored.is_deleted { bits::DELETED } else { 0 };
        let sequence = stored.sequence(self.settings.incarnation);
        let stamp = Stamp { sequence, bits: stamp.bits | deleted, ..stamp };
        let end = STAMP_END + value.len();
        send(out, from, destination.port, end + message.rest.len(), |sent| {
            sent[..KV_END].copy_from_slice(&message.frame[..KV_END]);
            copy(sent, KV_END, &bytes_of(stamp));
            copy(sent, MAC_DESTINATION, &destination.owner.mac);
            copy(sent, DESTINATION, &destination.owner.ip);
            copy(sent, LENGTH, &stored.length.to_be_bytes());
            add_u16(sent, TOTAL_LENGTH, value.len() as u16);
            add_u16(sent, UDP_LENGTH, value.len() as u16);
            copy(sent, STAMP_END, value);
            copy(sent, end, message.rest);
            set_checksum(&mut sent[IPV4..UDP]);
        });
    }

    /// Forwards a server's reply.
    #[inline]
    pub(super) fn forward_unchanged(
        &self,
        from: u16,
        port: u16,
        frame: &[u8],
        owner: Option<Owner>,
        out: &mut Output,
    ) {
        send(out, from, port, frame.len(), |sent| write_other(sent, frame, owner));
    }

    /// Answers a read with the record of an entry.
    #[inline]
    pub(super) fn answer_read(
        &self,
        from: u16,
        message: &Message<'_>,
        entry: u16,
        stored: &Stored,
        out: &mut Output,
    ) {
        let fields = Fields {
            op: Op::GetReply.code(),
            status: if stored.is_deleted { Status::NotFound } else { Status::Ok },
            flags: flags::STAMPED | flags::CACHE_HIT,
            length: stored.length,
            stamp: Stamp {
                sequence: stored.sequence(self.settings.incarnation),
                generation: 0,
                // The server lacks a dirty record: the client keeps a copy.
                bits: if stored.is_dirty { bits::DIRTY } else { 0 },
            },
        };
        self.answer(from, message, &fields, &[], self.entries.value(entry, stored.bytes()), out);
    }

    /// Answers a write that is applied.
    #[inline]
    pub(super) fn answer_write(
        &self,
        from: u16,
        message: &Message<'_>,
        sequence: Sequence,
        out: &mut Output,
    ) {
        let fields = Fields {
            op: message.op | 1,
            status: Status::Ok,
            flags: flags::STAMPED | flags::CACHE_HIT,
            length: 0,
            stamp: Stamp { sequence, generation: 0, bits: 0 },
        };
        self.answer(from, message, &fields, &[], &[], out);
    }

    /// Answers a message of the controller without a record.
    pub(super) fn answer_control(
        &self,
        from: u16,
        message: &Message<'_>,
        status: Status,
        slot_number: u32,
        out: &mut Output,
    ) {
        let (op, flags) = (message.op | 1, flags::STAMPED);
        let fields = Fields { op, status, flags, length: 0, stamp: message.stamp };
        self.answer(from, message, &fields, &slot_of(message.slot.entry, slot_number), &[], out);
    }

    /// Answers a message of the controller with the record of the entry.
    pub(super) fn report_record(
        &self,
        from: u16,
        message: &Message<'_>,
        stored: &Stored,
        bits: u8,
        out: &mut Output,
    ) {
        let (entry, generation) = (message.slot.entry, message.stamp.generation);
        let fields = self.record_fields(message.op | 1, stored, generation, bits);
        let value = self.entries.value(entry, stored.bytes());
        self.answer(from, message, &fields, &slot_of(entry, message.slot.number), value, out);
    }

    /// The fields of a report about a record.
    fn record_fields(&self, op: u8, stored: &Stored, generation: u32, bits: u8) -> Fields {
        let sequence = stored.sequence(self.settings.incarnation);
        let stamp = Stamp { sequence, generation, bits };
        let (status, flags) = (Status::Ok, flags::STAMPED);
        Fields { op, status, flags, length: stored.length, stamp }
    }

    /// Sends a reply to `from`, with a slot and a value.
    #[inline]
    fn answer(
        &self,
        from: u16,
        message: &Message<'_>,
        fields: &Fields,
        slot: &[u8],
        value: &[u8],
        out: &mut Output,
    ) {
        let Some(port) = self.ports.reply_port(from) else { return };
        let end = STAMP_END + slot.len() + value.len();
        send(out, from, port, end + message.rest.len(), |sent| {
            fields.write(sent, message.frame);
            write_reply_addresses(sent, message.frame);
            write_lengths(sent, message.reply_length + value.len() as u16);
            copy(sent, STAMP_END, slot);
            copy(sent, STAMP_END + slot.len(), value);
            copy(sent, end, message.rest);
            set_checksum(&mut sent[IPV4..UDP]);
        });
    }

    /// Reports the record of an entry as it was at the snapshot point. Returns whether the
    /// controller can be reached: otherwise the chain of clones ends, and with it the answer.
    pub(super) fn report_original(
        &self,
        arrival: Arrival,
        message: &Message<'_>,
        entry: u16,
        out: &mut Output,
    ) -> bool {
        let Some(port) = self.ports.reply_port(CPU_PORT) else { return false };
        let Entry { generation, stored, .. } = self.entries.entry(entry);
        let bits = report_bits(stored, true);
        let fields = self.record_fields(Op::Original.code(), stored, *generation, bits);
        let value = self.entries.value(entry, stored.bytes());
        let end = SLOT_END + value.len();
        for _ in 0..ORIGINALS {
            send(out, arrival.port, port, end + message.rest.len(), |sent| {
                fields.write(sent, message.frame);
                copy(sent, MAC_DESTINATION, &CONTROLLER_MAC);
                copy(sent, DESTINATION, &CONTROLLER_IP);
                write_lengths(sent, message.reply_length + (SLOT_LEN + value.len()) as u16);
                copy(sent, STAMP_END, &slot_of(entry, arrival.snapshot));
                copy(sent, SLOT_END, value);
                copy(sent, end, message.rest);
                set_checksum(&mut sent[IPV4..UDP]);
            });
        }
        true
    }
}

fn slot_of(entry: u16, number: u32) -> [u8; 6] {
    let ([high, low], [a, b, c, d]) = (entry.to_be_bytes(), number.to_be_bytes());
    [high, low, a, b, c, d]
}
