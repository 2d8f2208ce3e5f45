//! Protections of NetCache.

use crate::common::mutation::mutations;
pub use crate::single_key::mutation::*;

mutations! {
/// Protections of a server of NetCache.
NETCACHE: [
    /// Server: an unmarked write is fast although the key is cached.
    TrustUnmarkedWrites,
    /// Server: a marked write is fast although its key has no record.
    TrustMarksWithoutRecord,
    /// Server: a marked write is fast although its version is no newer than what was pushed.
    TrustOldVersions,
    /// Server: a marked write is fast although its mark is of another insertion.
    TrustOtherGenerations,
    /// Server: versions are compared as plain numbers, not as serial numbers.
    PlainVersions,
    /// Server: unmarked writes are fast from the start on, without a guard time.
    NoGuardTime,
    /// Server: a marked read or copy of a write is no reason to push a value.
    NoRefresh,
    /// Server: a value is pushed although it does not fit the entry.
    PushAnySize,
    /// Server: UPDATE is sent once.
    UpdateOnce,
    /// Server: INVALIDATE is sent once.
    InvalidateOnce,
    /// Server: OUTGROWN is sent once.
    OutgrownOnce,
    /// Server: a message of the controller that was seen before is carried out again.
    RepeatControl,
    /// Server: EVICTED drops the record of its key whatever insertion it speaks of.
    EvictAnyGeneration,
    /// Server: ADMIT holds writes until INSTALL, however long that takes.
    HoldForEver,
    /// Server: ADMIT holds no writes.
    HoldNothing,
]
}
