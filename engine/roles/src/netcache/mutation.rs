//! Protections of NetCache.

use crate::common::mutation::mutations;
pub use crate::single_key::mutation::*;

mutations! {
/// Protections of a server of NetCache.
NETCACHE: [
    /// Server: a write without cache metadata is fast although its key is cached.
    TrustWritesWithoutMetadata,
    /// Server: a write with cache metadata is fast although its key has no record.
    TrustMetadataWithoutRecord,
    /// Server: a write is fast although its version is not newer than the last pushed one.
    TrustOldVersions,
    /// Server: a write is fast although its cache metadata is of another insertion.
    TrustOtherGenerations,
    /// Server: versions are compared as plain numbers, not as serial numbers.
    PlainVersions,
    /// Server: writes without cache metadata are fast from the start on.
    NoGuardTime,
    /// Server: a read or copy of a write with cache metadata does not refresh the entry.
    NoRefresh,
    /// Server: a value is pushed although it does not fit the entry.
    PushAnySize,
    /// Server: UPDATE is sent once.
    UpdateOnce,
    /// Server: INVALIDATE is sent once.
    InvalidateOnce,
    /// Server: OUTGROWN is sent once.
    OutgrownOnce,
    /// Server: a copy of a message of the controller is carried out again.
    RepeatControl,
    /// Server: EVICTED drops the record of its key, whichever insertion it is about.
    EvictAnyGeneration,
    /// Server: ADMIT holds writes until INSTALL, however long that takes.
    HoldForEver,
    /// Server: ADMIT holds no writes.
    HoldNothing,
]

/// Protections of a server with an upper layer of switches.
UPPER_LAYER: [
    /// Server: a write does not invalidate the entry of the upper layer.
    ForgetUpperCopies,
    /// Server: after its start, writes of keys without a record of the upper layer are fast.
    NoLearning,
    /// Server: RESTARTED is sent once.
    RestartedOnce,
    /// Server: it waits for an upper switch, however long that is silent.
    WaitForEver,
]
}
