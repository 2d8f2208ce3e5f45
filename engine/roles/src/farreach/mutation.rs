//! Protections of FarReach.

use crate::common::mutation::mutations;
pub use crate::single_key::mutation::*;

mutations! {
/// Protections of a server of FarReach.
SERVER: [
    /// Server: a write is stored although the stored record is newer.
    StoreUnguarded,
    /// Server: sequences are compared as plain numbers, not as serial numbers.
    PlainSequences,
    /// Server: a write without effect is not remembered by the store.
    ForgetGuarded,
    /// Server: a delete leaves no tombstone.
    LeaveNoTombstones,
    /// Server: a record that is embedded in a read is ignored.
    IgnoreEmbedded,
    /// Server: a record that is embedded in a read is the answer although the stored one is newer.
    AnswerEmbedded,
    /// Server: a write of a past incarnation is carried out.
    DoPastWrites,
    /// Server: the answer to a copy of a write lacks the stored sequence.
    LeaveCopiesUnnumbered,
    /// Server: RESTORE overwrites a newer record.
    RestoreAnything,
    /// Server: RESTORE is answered before the store has it.
    AnswerRestoreEarly,
    /// Server: OFFER is sent once.
    OfferOnce,
    /// Server: a key is offered although an offer of it is open.
    OfferAgain,
    /// Server: a key is offered again as soon as an offer of it was answered.
    NoCoolDownAfterOffers,
    /// Server: deleted records and records too large for the switch are offered.
    OfferAnything,
    /// Server: a tombstone may be dropped at any number of WATERMARKs after it was made.
    DropTombstonesAtAnyWatermark,
    /// Server: tombstones need not be ten minutes old to be dropped.
    DropYoungTombstones,
    /// Server: a copy of a WATERMARK counts.
    CountWatermarkCopies,
    /// Server: a tombstone is dropped without checking that it is still stored.
    DropUnchecked,
]

/// Protections of a client of FarReach.
CLIENT: [
    /// Client: records that were read are not kept.
    ClientKeepsNoReads,
    /// Client: records that a server answered with for the switch are not kept.
    ClientKeepsNoEmbedded,
    /// Client: records of deleted keys are not kept.
    ClientKeepsNoDeletes,
    /// Client: an older record replaces a newer one.
    ClientKeepsOlder,
    /// Client: a listed key is released, however old the listed record is.
    ClientReleasesNewer,
    /// Client: an unlisted key is released at once.
    ClientReleasesUnlisted,
    /// Client: an unlisted key is released although the list before had it.
    ClientLooksAtOneList,
    /// Client: a key that is not cached any more is kept for ever.
    ClientKeepsUnlisted,
    /// Client: a list counts each time that it comes, and whenever it comes.
    ClientTakesOldLists,
    /// Client: lists are counted by snapshot numbers, although some snapshots have no list.
    ClientCountsSnapshots,
    /// Client: a list counts as complete although a part is missing.
    ClientReleasesWithoutAPart,
    /// Client: parts of several lists are taken for those of one.
    ClientMixesLists,
    /// Client: HELLO is sent once.
    ClientHellosOnce,
    /// Client: records are dropped when COLLECT is answered.
    ClientDropsAtCollect,
    /// Client: each COLLECT of a recovery reports what is preserved at that moment.
    ClientCollectsAnew,
    /// Client: COLLECT also reports records of the new incarnation.
    ClientCollectsTheNewIncarnation,
    /// Client: a COLLECT of an earlier recovery is answered, too.
    ClientAnswersEarlierCollects,
    /// Client: RECOVERED of any incarnation releases what was reported.
    ClientReleasesForAnyIncarnation,
    /// Client: RECOVERED releases also records that are newer than what was reported.
    ClientReleasesWhatIsNewer,
    /// Client: answers of a failed switch are accepted.
    ClientTakesPastAnswers,
    /// Client: an answer of a failed switch is ignored although the server has its record, too.
    ClientIgnoresCleanRecords,
    /// Client: a record counts as of a failed switch when the incarnation was raised.
    ClientIgnoresRaises,
    /// Client: records that only the switch has are accepted before HELLO is answered.
    ClientAcceptsBeforeHello,
]
}
