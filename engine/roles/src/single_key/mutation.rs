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
    /// Client: a write with unknown effect counts as done.
    ClientTakesUnknownAsDone,
    /// Client: a retransmitted request is stamped with the incarnation at the time of the
    /// retransmission.
    ClientStampsRetriesAnew,
]
}
