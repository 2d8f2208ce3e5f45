//! A received frame that concerns the cache: role, version stamp, slot and record.

use netkv_wire::{
    KV_OFFSET, Key, MAX_CACHED_VALUE, Op, SLOT_LEN, STAMP_LEN, Sequence, Slot, Stamp, Status,
    UDP_LEN, bits, flags, padded,
};

use crate::handwritten::layout::{
    FLAGS, KEY, KV_END, LENGTH, OP, REQUEST, SENDER, STATUS, UDP_LENGTH,
};
use crate::handwritten::{Drop, u16_at, u32_at};

const GET: u8 = Op::Get.code();
const GET_REPLY: u8 = Op::GetReply.code();
const PUT: u8 = Op::Put.code();
const PUT_REPLY: u8 = Op::PutReply.code();
const DELETE: u8 = Op::Delete.code();
const DELETE_REPLY: u8 = Op::DeleteReply.code();
pub(super) const FILL: u8 = Op::Fill.code();
pub(super) const VALIDATE: u8 = Op::Validate.code();
pub(super) const EVICT: u8 = Op::Evict.code();
pub(super) const LOAD: u8 = Op::Load.code();
pub(super) const RETIRE: u8 = Op::Retire.code();
pub(super) const COUNT: u8 = Op::Count.code();

/// The first byte behind the version stamp, and behind the slot.
pub(super) const STAMP_END: usize = KV_END + STAMP_LEN;
pub(super) const SLOT_END: usize = STAMP_END + SLOT_LEN;

/// What a frame is for the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Read,
    Write,
    /// A server's reply to a client.
    Reply,
    /// A message of the controller about an entry.
    Control,
}

/// A record in a frame that an entry could store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub is_deleted: bool,
    /// Bytes of the value.
    pub length: u16,
}

/// A received frame that concerns the cache.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub frame: &'a [u8],
    pub role: Role,
    pub op: u8,
    pub stamp: Stamp,
    /// Of a message of the controller; otherwise 0.
    pub slot: Slot,
    /// None if it has no record, or one that does not fit into an entry.
    pub record: Option<Record>,
    /// The chunks of the record.
    pub value: &'a [u8],
    /// What follows the parsed headers.
    pub rest: &'a [u8],
    /// The UDP length of the frame without the chunks.
    pub reply_length: u16,
}

/// Whether an operation is about an entry.
fn concerns_entry(op: u8) -> bool {
    op & 0xf0 == FILL
}

impl<'a> Message<'a> {
    /// Parses what follows the kv header; none if the frame does not concern the cache.
    #[inline]
    pub(super) fn parse(frame: &'a [u8]) -> Result<Option<Self>, Drop> {
        let op = frame[OP];
        let is_stamped = frame[FLAGS] & (flags::STAMPED | flags::CACHE_METADATA) == flags::STAMPED;
        let role = match op {
            GET => Role::Read,
            PUT | DELETE => Role::Write,
            GET_REPLY | PUT_REPLY | DELETE_REPLY if is_stamped => Role::Reply,
            _ if concerns_entry(op) => Role::Control,
            _ => return Ok(None),
        };
        if !is_stamped {
            return Err(Drop::Malformed);
        }
        let end = if role == Role::Control { SLOT_END } else { STAMP_END };
        let rest = frame.get(end..).ok_or(Drop::Malformed)?;
        let sequence =
            Sequence { incarnation: u32_at(frame, KV_END), number: u32_at(frame, KV_END + 4) };
        let stamp =
            Stamp { sequence, generation: u32_at(frame, KV_END + 8), bits: frame[KV_END + 12] };
        let slot = match role {
            Role::Control => {
                Slot { entry: u16_at(frame, STAMP_END), number: u32_at(frame, STAMP_END + 2) }
            }
            _ => Slot::default(),
        };
        let record = record_of(frame, stamp)?;
        let bytes = record.map_or(0, |record| padded(record.length.into()));
        let udp_length = u16_at(frame, UDP_LENGTH);
        if usize::from(udp_length) < UDP_LEN + end - KV_OFFSET + bytes {
            return Err(Drop::Malformed);
        }
        let reply_length = udp_length - bytes as u16;
        let (value, rest) = rest.split_at_checked(bytes).ok_or(Drop::Malformed)?;
        Ok(Some(Self { frame, role, op, stamp, slot, record, value, rest, reply_length }))
    }

    #[inline]
    pub(super) fn key(&self) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&self.frame[KEY..KV_END]);
        key
    }

    #[inline]
    pub(super) fn sender(&self) -> u16 {
        u16_at(self.frame, SENDER)
    }

    #[inline]
    pub(super) fn request(&self) -> u32 {
        u32_at(self.frame, REQUEST)
    }

    /// Whether this is a server's reply to a read.
    #[inline]
    pub(super) fn is_read_reply(&self) -> bool {
        self.op == GET_REPLY
    }
}

/// The record of a frame; an error if the operation is unknown, or has a record that is too large.
#[inline]
fn record_of(frame: &[u8], stamp: Stamp) -> Result<Option<Record>, Drop> {
    let length = u16_at(frame, LENGTH);
    let fits = usize::from(length) <= MAX_CACHED_VALUE;
    let value = fits.then_some(Record { is_deleted: false, length });
    let tombstone = Some(Record { is_deleted: true, length: 0 });
    Ok(match frame[OP] {
        PUT => value,
        DELETE => tombstone,
        GET_REPLY if frame[STATUS] == Status::Ok.code() => value,
        GET_REPLY if frame[STATUS] == Status::NotFound.code() => tombstone,
        FILL if stamp.has(bits::DELETED) => tombstone,
        FILL if fits => value,
        GET | GET_REPLY | PUT_REPLY | DELETE_REPLY => None,
        VALIDATE | EVICT | LOAD | RETIRE | COUNT => None,
        _ => return Err(Drop::Malformed),
    })
}
