//! Counters of the events in a switch.

/// Counters since the creation of the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Statistics {
    /// Received frames.
    pub packets_in: u64,
    /// Bytes of received frames.
    pub bytes_in: u64,
    /// Transmitted frames.
    pub packets_out: u64,
    /// Bytes of transmitted frames.
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
    /// Packets dropped because they exceeded the number of passes.
    pub loops_cut: u64,
    /// Graphs that were stopped because of an endless loop.
    pub endless_graphs: u64,
    /// Failed `assert` and `assume` statements.
    pub failed_assertions: u64,
}

impl Statistics {
    /// Packets dropped by the program, in ingress or egress.
    pub fn dropped(&self) -> u64 {
        self.dropped_ingress + self.dropped_egress
    }

    /// Adds the counts of a part of the switch, and sets them to 0.
    pub(crate) fn take(&mut self, part: &mut Self) {
        let part = std::mem::take(part);
        self.packets_in += part.packets_in;
        self.bytes_in += part.bytes_in;
        self.packets_out += part.packets_out;
        self.bytes_out += part.bytes_out;
        self.dropped_ingress += part.dropped_ingress;
        self.dropped_egress += part.dropped_egress;
        self.parser_errors += part.parser_errors;
        self.resubmitted += part.resubmitted;
        self.recirculated += part.recirculated;
        self.cloned += part.cloned;
        self.replicated += part.replicated;
        self.unknown_clone_sessions += part.unknown_clone_sessions;
        self.unknown_multicast_groups += part.unknown_multicast_groups;
        self.digests += part.digests;
        self.digests_dropped += part.digests_dropped;
        self.loops_cut += part.loops_cut;
        self.endless_graphs += part.endless_graphs;
        self.failed_assertions += part.failed_assertions;
    }
}
