//! Operations, statuses and flags of the `kv` header.

/// Bits of the `flags` field.
pub mod flags {
    /// A `mark` header follows the `kv` header.
    pub const MARKED: u8 = 1;
    /// The reply comes from a switch.
    pub const CACHE_HIT: u8 = 2;
    /// A `stamp` header follows (behind the `mark`, if there is one).
    pub const STAMPED: u8 = 4;
}

macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $code,)* }

        impl $name {
            /// Every value, in the order of the codes.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The value with this code on the wire, if there is one.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The code on the wire.
            pub const fn code(self) -> u8 {
                self as u8
            }
        }
    };
}

pub(crate) use wire_enum;

wire_enum! {
    /// What a frame asks or answers. A reply is the code of its request plus 1.
    Op {
        /// Client to owner: read a key.
        Get = 0x00,
        /// The value, from the owner or (flag `CACHE_HIT`) from a switch.
        GetReply = 0x01,
        /// Client to owner: write the value that the frame carries.
        Put = 0x02,
        /// The write is stored.
        PutReply = 0x03,
        /// Client to owner: delete a key.
        Delete = 0x04,
        /// The delete is stored.
        DeleteReply = 0x05,
        /// Server to switch: the value for a cached key at a version.
        Update = 0x10,
        /// Ok (now valid), stale, or not cached.
        UpdateReply = 0x11,
        /// Server to switch: invalidate as a passing write would, and tell the version.
        Invalidate = 0x12,
        /// Marked with the new version, or not cached.
        InvalidateReply = 0x13,
        /// Controller to owner: this key is to be cached; hold its writes.
        Admit = 0x20,
        /// Length of the value, without the value; or not found, too large, rejected.
        AdmitReply = 0x21,
        /// Controller to owner: the lookup entry is in; fill it.
        Install = 0x22,
        /// Ok (filled), not cached, too large, not found, or rejected.
        InstallReply = 0x23,
        /// Controller to owner: the entry of this generation is gone.
        Evicted = 0x24,
        /// The owner has forgotten the entry.
        EvictedReply = 0x25,
        /// Server to controller: the value no longer fits its entry, or was deleted.
        Outgrown = 0x26,
        /// The controller knows.
        OutgrownReply = 0x27,
        /// Server to controller: this record is hot and not cached.
        Offer = 0x28,
        /// Ok (it will come in, or has), or rejected (not now).
        OfferReply = 0x29,
        /// Controller to owner: keep this record if it is newer than yours.
        Restore = 0x2a,
        /// Ok, with the stamp of what the owner has now.
        RestoreReply = 0x2b,
        /// Controller to owner: asks for the record of a key.
        Fetch = 0x2c,
        /// The record, or not found or too large; stamped in each case.
        FetchReply = 0x2d,
        /// Controller to server: every copy of a record from before the snapshot in force is gone
        /// from clients and switch, so older tombstones may be dropped.
        Watermark = 0x2e,
        /// The server has counted it.
        WatermarkReply = 0x2f,
        /// Controller to switch: hit counter of an entry.
        Stats = 0x30,
        /// Marked: version is the count, bitmap 0; or not cached.
        StatsReply = 0x31,
        /// Controller to switch: new statistics epoch in the mark's version.
        Epoch = 0x32,
        /// The epoch is in force.
        EpochReply = 0x33,
        /// Controller to switch: this record into that entry, which stays invalid.
        Fill = 0x40,
        /// Ok (it is in), or stale (the entry has a later generation).
        FillReply = 0x41,
        /// Controller to switch: the entry is valid from now on.
        Validate = 0x42,
        /// Ok, or stale.
        ValidateReply = 0x43,
        /// Controller to switch: the entry is to be evicted.
        Evict = 0x44,
        /// Ok, with its record; or stale.
        EvictReply = 0x45,
        /// Controller to switch: asks for the record of an entry.
        Load = 0x46,
        /// Ok, with its record; or stale.
        LoadReply = 0x47,
        /// Controller to switch: the evicted record is safe, so the entry is invalid for good.
        Retire = 0x48,
        /// Ok, or stale.
        RetireReply = 0x49,
        /// Controller to switch: asks how often the entry was read or written in this epoch.
        Count = 0x4a,
        /// Ok, with the number; or stale.
        CountReply = 0x4b,
        /// Switch to controller: the record that an entry had at the snapshot point. An answer
        /// that nobody asks for.
        Original = 0x4d,
        /// Client to controller: registers a client process that preserves records.
        Hello = 0x50,
        /// Stamped with the incarnation of the switch.
        HelloReply = 0x51,
        /// Client to controller: deregisters the process.
        Bye = 0x52,
        /// The controller does not collect from it any more.
        ByeReply = 0x53,
        /// Controller to client: keys and sequence numbers of a snapshot, a part of the list.
        Release = 0x54,
        /// The client has the part.
        ReleaseReply = 0x55,
        /// Controller to client: asks for preserved records, from the one with this number on.
        Collect = 0x56,
        /// Some of the records.
        CollectReply = 0x57,
        /// Controller to client: the collected records are stored, and the switch serves again.
        Recovered = 0x58,
        /// The client has released them.
        RecoveredReply = 0x59,
    }
}

wire_enum! {
    /// How a request ended.
    Status {
        /// Done.
        Ok = 0,
        /// The key has no value.
        NotFound = 1,
        /// Update refused: a newer write has passed the switch.
        Stale = 2,
        /// The switch has no such entry, or another generation of it.
        NotCached = 3,
        /// The value does not fit.
        TooLarge = 4,
        /// A queue is full; nothing was done, ask again later.
        Overloaded = 5,
        /// The request is refused for good.
        Rejected = 6,
        /// The switch has lost its memory since the write was sent first: who knows whether it was
        /// done.
        Unknown = 7,
    }
}

impl Op {
    /// Whether this is the answer to another frame.
    pub const fn is_reply(self) -> bool {
        self.code() & 1 == 1
    }

    /// The reply that belongs to this request; a reply gives itself.
    pub const fn reply(self) -> Op {
        match Op::from_code(self.code() | 1) {
            Some(op) => op,
            None => self,
        }
    }

    /// Whether `length` bytes of value follow the headers (with status ok).
    pub const fn carries_value(self) -> bool {
        matches!(
            self,
            Op::GetReply
                | Op::Put
                | Op::Update
                | Op::Offer
                | Op::Restore
                | Op::FetchReply
                | Op::Fill
                | Op::EvictReply
                | Op::LoadReply
                | Op::Original
                | Op::Release
                | Op::CollectReply
        )
    }

    /// Whether a `place` header follows the stamp: messages between controller and switch about
    /// an entry.
    pub const fn is_placed(self) -> bool {
        self.code() >> 4 == 4
    }

    /// Whether this reports a hot record, or acknowledges such a report: the sender of a report
    /// sends it again, so it may be dropped before anything else.
    pub const fn is_report(self) -> bool {
        matches!(self, Op::Offer | Op::OfferReply)
    }

    /// Whether this changes the stored value of a key on behalf of a client.
    pub const fn is_write(self) -> bool {
        matches!(self, Op::Put | Op::Delete)
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, Status};

    #[test]
    fn every_code_reads_back_and_unknown_ones_are_refused() {
        let mut known = 0;
        for code in 0..=255u8 {
            if let Some(op) = Op::from_code(code) {
                assert_eq!(op.code(), code);
                known += 1;
            }
        }
        assert_eq!(known, Op::ALL.len());
        assert_eq!(Op::from_code(0x06), None);
        assert_eq!(Op::from_code(0xff), None);
        assert_eq!(Status::from_code(6), Some(Status::Rejected));
        assert_eq!(Status::from_code(8), None);
    }

    #[test]
    fn a_reply_is_the_odd_code_after_its_request() {
        for &op in Op::ALL {
            assert_eq!(op.reply().code(), op.code() | 1);
            assert!(op.reply().is_reply());
        }
    }
}
