//! Protections of requests with single keys.

use crate::common::mutation::mutations;
pub use crate::common::mutation::*;

mutations! {
/// Protections of servers and clients of single keys.
SINGLE_KEY: [
    /// Server: an answer of the switch is matched by key instead of request number.
    MatchAnswersByKey,
    /// Client: a reply is matched by key instead of request number.
    MatchRepliesByKey,
    /// Client: a write that may or may not have been done counts as done.
    ClientTakesUnknownAsDone,
    /// Client: a request that is sent again is stamped with the incarnation of then.
    ClientStampsRetriesAnew,
]
}
