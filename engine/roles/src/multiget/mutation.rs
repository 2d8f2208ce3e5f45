//! Protections of multigets.

use crate::common::mutation::mutations;
pub use crate::common::mutation::*;

mutations! {
/// Protections of multigets.
MULTIGET: [
    /// Server: all keys of a frame are read and answered, not only the requested ones.
    ServerReadsAllKeys,
    /// Server: a write of a coordinator is identified by the coordinator's number, not the
    /// client's.
    ServerNumbersByCoordinator,
    /// Server: if the store fails for some keys of a read, they are answered as not found.
    ServerTakesFailuresForAbsent,
    /// Server: clients may write the records of a store itself.
    ServerTakesReservedKeys,
    /// Server: numbers of requests are compared as plain numbers, not as serial numbers.
    ServerPlainNumbers,
    /// Client: KEYIDX does not mark the end of the last key group.
    ClientEndsNoLastGroup,
    /// Client: entries of a reply are appended to those before, whichever keys it names.
    ClientAppendsReplies,
    /// Client: a key that was not found counts as not answered.
    ClientIgnoresAbsent,
    /// Client: a request is complete after as many entries as it has keys, whichever they are.
    ClientCountsKeys,
    /// Client: a request is complete after the first reply.
    ClientTakesFirstReply,
    /// Client: a reply is matched by the number of the request alone, whichever client it is for.
    ClientIgnoresReceiver,
    /// Client: a reply is accepted whatever keys it names.
    ClientTrustsPlaces,
    /// Client: the value of a key that is named twice is returned once.
    ClientAnswersRepeatsOnce,
    /// Client: an operation ends at its deadline with the answers so far.
    ClientEndsWithAPart,
    /// Client: only the first request of an operation is sent.
    ClientAsksOnce,
    /// Client: a request that is sent again has another number.
    ClientNumbersRetriesAnew,
    /// Client: a write that failed at the server counts as done.
    ClientTakesFailuresAsDone,
    /// Coordinator: a request is complete after as many entries as it has keys, whichever they are.
    CoordinatorCountsKeys,
    /// Coordinator: a copy of a request under way is a request of its own.
    CoordinatorRepeatsRequests,
    /// Coordinator: requests are identified by their number alone, whichever client they are of.
    CoordinatorIgnoresClient,
    /// Coordinator: requests to servers are sent once.
    CoordinatorAsksOnce,
    /// Coordinator: requests are answered only when all keys are known.
    CoordinatorSendsNoPartialReplies,
    /// Coordinator: the number of requests under way is not limited.
    CoordinatorTakesAll,
]
}
