//! Operations, statuses and flags of the `kv` header.

/// Bits of the `flags` field.
pub mod flags {
    /// Cache metadata follows the `kv` header.
    pub const CACHE_METADATA: u8 = 1;
    /// The reply comes from a switch.
    pub const CACHE_HIT: u8 = 2;
    /// A version stamp follows, after the cache metadata, if there is any.
    pub const STAMPED: u8 = 4;
    /// The frame is about the copy of the key in the upper layer of switches.
    pub const UPPER: u8 = 8;
    /// The load of the switch that answered follows, after all other headers.
    pub const LOAD: u8 = 16;
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
    /// Operation of a frame. The code of a reply is that of its request plus 1.
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
        /// Server to switch: invalidate the entry as a passing write does.
        Invalidate = 0x12,
        /// Cache metadata with the new version, or not cached.
        InvalidateReply = 0x13,
        /// Controller to owner: this key will be cached; block its writes.
        Admit = 0x20,
        /// Length of the value, without the value; or not found, too large, rejected.
        AdmitReply = 0x21,
        /// Controller to owner: the lookup entry is written; fill the entry.
        Install = 0x22,
        /// Ok (filled), not cached, too large, not found, or rejected.
        InstallReply = 0x23,
        /// Controller to owner: the entry of this generation was evicted.
        Evicted = 0x24,
        /// Acknowledgement.
        EvictedReply = 0x25,
        /// Server to controller: the value no longer fits its entry, or was deleted.
        Outgrown = 0x26,
        /// Acknowledgement.
        OutgrownReply = 0x27,
        /// Server to controller: this record is hot and not cached.
        Offer = 0x28,
        /// Ok (the record is or will be admitted), or rejected (not now).
        OfferReply = 0x29,
        /// Controller to owner: store this record if it is newer than the owner's.
        Restore = 0x2a,
        /// Ok, with the version stamp of the owner's record.
        RestoreReply = 0x2b,
        /// Controller to owner: return the record of a key.
        Fetch = 0x2c,
        /// The record, or not found or too large; stamped in each case.
        FetchReply = 0x2d,
        /// Controller to server: clients and switch have no copy of a record from before the
        /// current snapshot, so older tombstones may be dropped.
        Watermark = 0x2e,
        /// Acknowledgement.
        WatermarkReply = 0x2f,
        /// Controller to switch: return the hit counter of an entry.
        Stats = 0x30,
        /// Cache metadata: version is the count, bitmap 0; or not cached.
        StatsReply = 0x31,
        /// Controller to switch: begin the statistics epoch in the version of the cache metadata.
        Epoch = 0x32,
        /// The epoch has begun.
        EpochReply = 0x33,
        /// Controller to switch: write this record into the entry, which stays invalid.
        Fill = 0x40,
        /// Ok (it is written), or stale (the entry has a later generation).
        FillReply = 0x41,
        /// Controller to switch: make the entry valid.
        Validate = 0x42,
        /// Ok, or stale.
        ValidateReply = 0x43,
        /// Controller to switch: begin the eviction of the entry.
        Evict = 0x44,
        /// Ok, with its record; or stale.
        EvictReply = 0x45,
        /// Controller to switch: return the record of an entry.
        Load = 0x46,
        /// Ok, with its record; or stale.
        LoadReply = 0x47,
        /// Controller to switch: the server has the evicted record; make the entry invalid.
        Retire = 0x48,
        /// Ok, or stale.
        RetireReply = 0x49,
        /// Controller to switch: return how often the entry was read or written in this epoch.
        Count = 0x4a,
        /// Ok, with the count; or stale.
        CountReply = 0x4b,
        /// Switch to controller: the record that an entry had at the snapshot point. Its code is
        /// that of a reply, but it has no request.
        Original = 0x4d,
        /// Client to controller: registers a client process that preserves records.
        Hello = 0x50,
        /// A version stamp with the incarnation of the switch.
        HelloReply = 0x51,
        /// Client to controller: deregisters the process.
        Bye = 0x52,
        /// The controller no longer collects records from the process.
        ByeReply = 0x53,
        /// Controller to client: a part of the list of keys and sequence numbers of a snapshot.
        Release = 0x54,
        /// The client has received the part.
        ReleaseReply = 0x55,
        /// Controller to client: return preserved records, from the one with this number on.
        Collect = 0x56,
        /// A part of the records.
        CollectReply = 0x57,
        /// Controller to client: the servers have the collected records, and the switch is open
        /// again.
        Recovered = 0x58,
        /// The client has released the records.
        RecoveredReply = 0x59,
        /// Server to controller: it has started, and knows no copies in the upper layer.
        Restarted = 0x5a,
        /// The server knows all copies of its keys there.
        RestartedReply = 0x5b,
    }
}

wire_enum! {
    /// Result of a request.
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
        /// A queue is full: nothing was done, and the sender may retry later.
        Overloaded = 5,
        /// The request is refused.
        Rejected = 6,
        /// The switch has lost its state since the write was first sent, so it is unknown whether
        /// the write took effect.
        Unknown = 7,
        /// The condition of a write does not hold: nothing was changed.
        Conflict = 8,
    }
}

impl Op {
    /// Whether this is a reply.
    pub const fn is_reply(self) -> bool {
        self.code() & 1 == 1
    }

    /// The reply to this request; for a reply, the operation itself.
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

    /// Whether a slot follows the version stamp: true for messages between controller and switch
    /// about an entry.
    pub const fn has_slot(self) -> bool {
        self.code() >> 4 == 4
    }

    /// Whether this reports a hot record, or acknowledges such a report. Full queues drop these
    /// messages first, because the sender of a report repeats it.
    pub const fn is_report(self) -> bool {
        matches!(self, Op::Offer | Op::OfferReply)
    }

    /// Whether this is a write of a client.
    pub const fn is_write(self) -> bool {
        matches!(self, Op::Put | Op::Delete)
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, Status};

    #[test]
    fn codes_are_parsed_and_unknown_ones_are_refused() {
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
        assert_eq!(Status::from_code(8), Some(Status::Conflict));
        assert_eq!(Status::from_code(9), None);
    }

    #[test]
    fn a_reply_is_the_odd_code_after_its_request() {
        for &op in Op::ALL {
            assert_eq!(op.reply().code(), op.code() | 1);
            assert!(op.reply().is_reply());
        }
    }
}
