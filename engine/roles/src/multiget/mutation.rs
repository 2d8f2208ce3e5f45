//! Protections of multigets.

use crate::common::mutation::mutations;
pub use crate::common::mutation::*;

mutations! {
/// Protections of multigets.
MULTIGET: [
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
]
}
