//! Protections taken out on purpose, so that tests can show what each one is good for.
//!
//! With the feature `mutations` (only this crate's own tests turn it on) a role can be told to do
//! without one of its protections. Without the feature, [`Mutated::by`] is `false` at compile time
//! and nothing of this is left in the code.

macro_rules! mutations {
    ($($(#[$of_all:meta])* $list:ident: { $($(#[$doc:meta])* $name:ident,)* })*) => {
        /// A protection of a role that is missing.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mutation { $($($(#[$doc])* $name,)*)* }

        #[cfg(feature = "mutations")]
        impl Mutation {
            $($(#[$of_all])* pub const $list: &[Mutation] = &[$(Mutation::$name,)*];)*
        }
    };
}

mutations! {
/// Protections of NetCache, and of requests in every scheme.
ALL: {
    /// Server: a write that was seen before is carried out again.
    RepeatWrites,
    /// Server: a write that is too old to be remembered is carried out as if it were new.
    RepeatLateWrites,
    /// Server: a copy of a write gets no answer.
    LeaveCopiesUnanswered,
    /// Server: a write is answered before the store has it.
    AnswerBeforeStored,
    /// Server: a write that the store refused is answered as if it were done.
    AnswerFailuresAsDone,
    /// Server: a write does not wait for what is under way for its key.
    OvertakeWrites,
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
    /// Server: an answer of the switch is matched by key instead of request number.
    MatchAnswersByKey,
    /// Server: a message of the controller that was seen before is carried out again.
    RepeatControl,
    /// Server: EVICTED drops the record of its key whatever insertion it speaks of.
    EvictAnyGeneration,
    /// Server: ADMIT holds writes until INSTALL, however long that takes.
    HoldForEver,
    /// Server: ADMIT holds no writes.
    HoldNothing,
    /// Client: a request is sent once.
    RequestOnce,
    /// Client: a reply is matched by key instead of request number.
    MatchRepliesByKey,
}

/// Protections of a server of FarReach.
FARREACH_SERVER: {
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
    /// Server: a write of a past life is carried out.
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
    /// Server: tombstones need not have been made before the HORIZON before the last one.
    DropTombstonesAtAnyHorizon,
    /// Server: tombstones need not be ten minutes old to be dropped.
    DropYoungTombstones,
    /// Server: a copy of a HORIZON counts.
    CountHorizonCopies,
    /// Server: a key whose tombstone may go is deleted unseen.
    DropUnchecked,
}

/// Protections of a client of FarReach.
FARREACH_CLIENT: {
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
    /// Client: what is told at COLLECT is forgotten at once.
    ClientDropsAtCollect,
    /// Client: each COLLECT tells of what is kept then.
    ClientFreezesAgain,
    /// Client: COLLECT also tells of what the switch says in its new life.
    ClientFreezesTheLiving,
    /// Client: a COLLECT of a recovery that is over is answered, too.
    ClientTellsDeadControllers,
    /// Client: RECOVERED of any life releases what was told.
    ClientThawsForAnyLife,
    /// Client: RECOVERED releases also records that are newer than what was told.
    ClientReleasesWhatIsNewer,
    /// Client: answers of a switch that is dead count.
    ClientTakesPastAnswers,
    /// Client: a record counts as of a dead switch although the server has it, too.
    ClientIgnoresCleanRecords,
    /// Client: a record counts as of a dead switch when the life of the switch was raised.
    ClientIgnoresEras,
    /// Client: records that only the switch has are taken before HELLO is answered.
    ClientTakesWhatNobodyCollects,
    /// Client: a request that is sent again is stamped with the life of then.
    ClientStampsRetriesAnew,
    /// Client: a write that may or may not have been done counts as done.
    ClientTakesUnknownAsDone,
}

/// Protections of multigets.
MULTIGET: {
    /// Server: all keys of a frame are read and answered, not only those that it asks for.
    ServerReadsAllKeys,
    /// Server: a write of a coordinator is known by the coordinator's number, not the client's.
    ServerNumbersByCoordinator,
    /// Server: a read of which the store has found only a part is answered as if the rest were
    /// not there.
    ServerTakesFailuresForAbsent,
    /// Server: clients may write the records of a store itself.
    ServerTakesReservedKeys,
    /// Server: numbers of requests are compared as plain numbers, not as serial numbers.
    ServerPlainNumbers,
    /// Client: KEYIDX does not say that the last key group ends.
    ClientEndsNoLastGroup,
    /// Client: what comes is put behind what is there, whichever keys it says it has.
    ClientAppendsReplies,
    /// Client: a key that was not found counts as not answered.
    ClientIgnoresAbsent,
    /// Client: a request is over after as many keys as it asked for, whichever they are.
    ClientCountsKeys,
    /// Client: a request is over after the first reply.
    ClientTakesFirstReply,
    /// Client: a reply is matched by the number of the request alone, whichever client it is for.
    ClientIgnoresReceiver,
    /// Client: a reply is taken whatever keys it names.
    ClientTrustsPlaces,
    /// Client: a key that is asked for twice is answered once.
    ClientAnswersRepeatsOnce,
    /// Client: an operation ends at its deadline with what is there.
    ClientEndsWithAPart,
    /// Client: keys behind the 16th are not asked for.
    ClientAsksOnce,
    /// Client: a request that is sent again has another number.
    ClientNumbersRetriesAnew,
    /// Client: a write that a server failed to do counts as done.
    ClientTakesFailuresAsDone,
    /// Coordinator: a request is over after as many keys as it asked for, whichever they are.
    CoordinatorCountsKeys,
    /// Coordinator: a copy of a request under way is a request of its own.
    CoordinatorRepeatsRequests,
    /// Coordinator: requests are told apart by their number alone, whichever client they are of.
    CoordinatorIgnoresClient,
    /// Coordinator: requests to servers are sent once.
    CoordinatorAsksOnce,
    /// Coordinator: a request without all answers at its deadline is forgotten.
    CoordinatorTellsNoPart,
    /// Coordinator: the number of requests under way is not limited.
    CoordinatorTakesAll,
}
}

/// Which protection a role does without, if any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mutated {
    #[cfg(feature = "mutations")]
    pub(crate) mutation: Option<Mutation>,
}

impl Mutated {
    /// Whether this protection is missing.
    #[inline(always)]
    pub(crate) fn by(self, mutation: Mutation) -> bool {
        #[cfg(feature = "mutations")]
        return self.mutation == Some(mutation);
        #[cfg(not(feature = "mutations"))]
        {
            let _ = mutation;
            false
        }
    }
}

#[cfg(feature = "mutations")]
impl crate::Server {
    /// Takes a protection out. For tests.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutated.mutation = Some(mutation);
    }
}

#[cfg(feature = "mutations")]
impl crate::multiget::Server {
    /// Takes a protection out. For tests.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutated.mutation = Some(mutation);
    }
}

#[cfg(feature = "mutations")]
impl crate::multiget::Coordinator {
    /// Takes a protection out. For tests.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutated.mutation = Some(mutation);
    }
}

#[cfg(feature = "mutations")]
impl crate::multiget::Client {
    /// Takes a protection out. For tests.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutated.mutation = Some(mutation);
    }
}

#[cfg(feature = "mutations")]
impl crate::Client {
    /// Takes a protection out. For tests.
    pub fn mutate(&mut self, mutation: Mutation) {
        self.mutated.mutation = Some(mutation);
    }
}
