//! What the switch has seen.

/// Counts since the switch was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Statistics {
    /// Frames that came in.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that went out.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Packets dropped at the end of ingress (`egress_spec` 511).
    pub dropped_ingress: u64,
    /// Packets dropped at the end of egress.
    pub dropped_egress: u64,
    /// Passes that ended with a parser error other than `NoError`.
    pub parser_errors: u64,
    /// Packets sent back to the parser at the end of ingress.
    pub resubmitted: u64,
    /// Packets sent back to the parser at the end of egress.
    pub recirculated: u64,
    /// Copies made by clone sessions.
    pub cloned: u64,
    /// Copies made by multicast groups.
    pub replicated: u64,
    /// Clones to a session that does not exist.
    pub unknown_clone_sessions: u64,
    /// Packets to a multicast group that does not exist.
    pub unknown_multicast_groups: u64,
    /// Digests put into the queue.
    pub digests: u64,
    /// Digests dropped because the queue was full.
    pub digests_dropped: u64,
    /// Packets dropped because they went round more often than any program should.
    pub loops_cut: u64,
    /// Graphs stopped because they ran in circles without end.
    pub endless_graphs: u64,
    /// `assert` and `assume` that did not hold.
    pub failed_assertions: u64,
}

impl Statistics {
    /// Packets dropped by the program, in ingress or egress.
    pub fn dropped(&self) -> u64 {
        self.dropped_ingress + self.dropped_egress
    }
}
