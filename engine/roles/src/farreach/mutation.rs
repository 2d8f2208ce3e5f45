//! Protections of FarReach.

use crate::common::mutation::mutations;
pub use crate::single_key::mutation::*;

mutations! {
/// Protections of a server of FarReach.
SERVER: [
    /// Server: a write is stored although what is stored is newer.
    StoreUnguarded,
    /// Server: sequences are compared as plain numbers, not as serial numbers.
    PlainSequences,
    /// Server: a write without effect is not remembered by the store.
    ForgetGuarded,
    /// Server: a delete leaves no tombstone.
    LeaveNoTombstones,
    /// Server: a record that a read brings along is ignored.
    IgnoreEmbedded,
    /// Server: a record that a read brings along is the answer although the stored one is newer.
    AnswerEmbedded,
    /// Server: a write of a past incarnation is carried out.
    DoPastWrites,
    /// Server: the answer to a copy of a write does not tell the stored sequence.
    LeaveCopiesUnnumbered,
    /// Server: RESTORE overwrites what is newer.
    RestoreAnything,
    /// Server: RESTORE is answered before the store has it.
    AnswerRestoreEarly,
    /// Server: OFFER is sent once.
    OfferOnce,
    /// Server: a key is offered although an offer of it is open.
    OfferAgain,
    /// Server: a key is offered again as soon as an offer of it was answered.
    NoRestAfterOffers,
    /// Server: deleted records and such as no switch can cache are offered.
    OfferAnything,
    /// Server: tombstones need not have been made before the WATERMARK before the last one.
    DropTombstonesAtAnyWatermark,
    /// Server: tombstones need not be ten minutes old to be dropped.
    DropYoungTombstones,
    /// Server: a copy of a WATERMARK counts.
    CountWatermarkCopies,
    /// Server: a key whose tombstone may go is deleted unseen.
    DropUnchecked,
]

/// Protections of a client of FarReach.
CLIENT: [
    /// Client: records that were read are not kept.
    ClientKeepsNoReads,
    /// Client: records that a server answered with for the switch are not kept.
    ClientKeepsNoEmbedded,
    /// Client: records that say that a key is deleted are not kept.
    ClientKeepsNoDeletes,
    /// Client: an older record takes the place of a newer one.
    ClientKeepsOlder,
    /// Client: a key that is listed goes, however old the listed record is.
    ClientReleasesNewer,
    /// Client: a key that is not listed goes at once.
    ClientReleasesUnlisted,
    /// Client: a key that is not listed goes though the list before had it.
    ClientLooksAtOneList,
    /// Client: a key that is not cached any more is kept for ever.
    ClientKeepsUnlisted,
    /// Client: a list counts each time that it comes, and whenever it comes.
    ClientTakesOldLists,
    /// Client: lists are counted by the numbers of snapshots, of which some have none.
    ClientCountsSnapshots,
    /// Client: a list counts as whole although a part is missing.
    ClientReleasesWithoutAPart,
    /// Client: parts of several lists are taken for those of one.
    ClientMixesLists,
    /// Client: HELLO is sent once.
    ClientHellosOnce,
    /// Client: records are dropped when COLLECT is answered.
    ClientDropsAtCollect,
    /// Client: each COLLECT of a recovery reports what is preserved at that moment.
    ClientFreezesAgain,
    /// Client: COLLECT also reports records of the new incarnation.
    ClientFreezesTheLiving,
    /// Client: a COLLECT of a recovery that is over is answered, too.
    ClientTellsDeadControllers,
    /// Client: RECOVERED of any incarnation releases what was reported.
    ClientReleasesForAnyIncarnation,
    /// Client: RECOVERED releases also records that are newer than what was reported.
    ClientReleasesWhatIsNewer,
    /// Client: answers of a failed switch count.
    ClientTakesPastAnswers,
    /// Client: a record counts as of a failed switch although the server has it, too.
    ClientIgnoresCleanRecords,
    /// Client: a record counts as of a failed switch when the incarnation was raised.
    ClientIgnoresRaises,
    /// Client: records that only the switch has are taken before HELLO is answered.
    ClientTakesWhatNobodyCollects,
]
}
