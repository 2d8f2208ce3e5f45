//! The multiget header (NetMC paper, figure 4).

use super::Groups;
use super::layout::{BEFORE_KEYIDX, BEFORE_SRV, Fields, MAX_FIELDS};
use crate::op::wire_enum;

wire_enum! {
    /// Operation of a frame. A reply has the code of its request, with [`Op::REPLY`] set.
    Op {
        /// Read several keys.
        Mget = 1,
        /// Read one key.
        Get = 2,
        /// Write one key.
        Put = 3,
        /// Delete one key.
        Delete = 4,
    }
}

impl Op {
    /// Bit of the OP field that is set in replies.
    pub const REPLY: u8 = 0x80;

    /// Whether this is a read.
    pub const fn reads(self) -> bool {
        matches!(self, Op::Mget | Op::Get)
    }
}

wire_enum! {
    /// Result of a request, in a reply.
    Answer {
        /// The request was executed; each key has its own status.
        Ok = 0,
        /// Nothing was done, and the sender may retry later.
        Overloaded = 5,
        /// The request is refused.
        Rejected = 6,
        /// The store failed.
        Failed = 8,
    }
}

/// The header: the fields of the paper, and the rack whose switch splits the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// OP without [`Op::REPLY`].
    pub op: Op,
    /// Whether [`Op::REPLY`] is set.
    pub reply: bool,
    /// ID: the sender's request number, also in sub-requests and replies.
    pub id: u32,
    /// OID: number of the key group, from 1.
    pub oid: u8,
    /// NUMKEY: number of keys of the request, or of the key group.
    pub numkey: u8,
    /// KEYIDX: the bits of the keys that end a key group; the first key has the most significant
    /// bit. A frame contains only as many as its KEYIDX has.
    pub keyidx: u128,
    /// STARTIDX: the first key of the key group, from 0.
    pub startidx: u8,
    /// CLO: whether a switch has cloned the packet.
    pub clo: u8,
    /// SRV: the servers of the key groups. A frame contains only as many as it has SRV fields.
    pub srv: [u8; MAX_FIELDS as usize],
    /// RACK: the rack whose switch splits the request; 0 for none.
    pub rack: u8,
}

impl Header {
    /// The header of a request for `numkey` keys in these groups, not yet split.
    pub const fn request(op: Op, id: u32, numkey: u8, groups: &Groups) -> Self {
        Self {
            op,
            reply: false,
            id,
            oid: 1,
            numkey,
            keyidx: groups.keyidx,
            startidx: 0,
            clo: 0,
            srv: groups.srv,
            rack: 0,
        }
    }

    /// The header of a reply to this request, about `numkey` keys from `startidx` on.
    pub const fn answer(&self, startidx: u8, numkey: u8) -> Self {
        let srv = [0; MAX_FIELDS as usize];
        Self { reply: true, numkey, keyidx: 0, startidx, clo: 0, srv, rack: 0, ..*self }
    }

    /// Appends the header.
    pub(super) fn write(&self, out: &mut Vec<u8>, fields: Fields) {
        out.push(self.op.code() | if self.reply { Op::REPLY } else { 0 });
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&[self.oid, self.numkey]);
        out.extend_from_slice(&self.keyidx.to_be_bytes()[..fields.keyidx_len()]);
        out.extend_from_slice(&[self.startidx, self.clo]);
        out.extend_from_slice(&self.srv[..usize::from(fields.srv)]);
        out.push(self.rack);
    }

    /// Reads a header from the start of `bytes`, which must be long enough. If the operation is
    /// unknown, the error is the OP byte.
    pub(super) fn read(bytes: &[u8], fields: Fields) -> Result<Self, u8> {
        let op = Op::from_code(bytes[0] & !Op::REPLY).ok_or(bytes[0])?;
        let mut srv = [0; MAX_FIELDS as usize];
        let mut keyidx = [0; 16];
        let (of_keyidx, rest) = bytes[BEFORE_KEYIDX..].split_at(fields.keyidx_len());
        keyidx[..of_keyidx.len()].copy_from_slice(of_keyidx);
        let count = usize::from(fields.srv);
        srv[..count].copy_from_slice(&rest[BEFORE_SRV..BEFORE_SRV + count]);
        Ok(Self {
            op,
            reply: bytes[0] & Op::REPLY != 0,
            id: u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]),
            oid: bytes[5],
            numkey: bytes[6],
            keyidx: u128::from_be_bytes(keyidx),
            startidx: rest[0],
            clo: rest[1],
            srv,
            rack: bytes[fields.header_len() - 1],
        })
    }
}
