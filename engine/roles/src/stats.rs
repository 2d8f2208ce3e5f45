//! What the roles count.

use hdrhistogram::Histogram;

/// Longest latency that is told apart, in nanoseconds.
const LONGEST: u64 = 120 * crate::SECOND;

/// What a client has seen since this was last taken.
#[derive(Debug, Clone)]
pub struct ClientStats {
    /// Numbers of things.
    pub counts: ClientCounts,
    /// Latency of the completed operations in nanoseconds, from the intended start.
    pub latency: Histogram<u64>,
}

impl Default for ClientStats {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1, LONGEST, 3)
            .expect("1 ns to 2 minutes with 3 digits are bounds of a histogram");
        Self { counts: ClientCounts::default(), latency }
    }
}

impl ClientStats {
    /// Sets everything to 0 and keeps the memory.
    pub fn clear(&mut self) {
        self.counts = ClientCounts::default();
        self.latency.reset();
    }
}

/// Numbers of things that a client has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Frames sent, retries included.
    pub sent: u64,
    /// Operations that ended with an answer (a read-modify-write is one).
    pub completed: u64,
    /// Reads answered.
    pub reads: u64,
    /// Writes and deletes answered.
    pub writes: u64,
    /// Keys that answered reads asked for, repeated ones each time (multigets only).
    pub keys_read: u64,
    /// Requests that servers get for the operations started: a multiget is one for each key group,
    /// whoever splits it. Where a coordinator splits, what it is asked (multigets only).
    pub groups: u64,
    /// Servers that had not answered when an operation was given up (multigets only).
    pub missing_groups: u64,
    /// Reads answered by a switch.
    pub hits: u64,
    /// Frames sent again.
    pub retries: u64,
    /// Operations given up at their deadline.
    pub lost: u64,
    /// Operations never started because too many were waiting (open loop only).
    pub unsent: u64,
    /// Reads that found no value.
    pub not_found: u64,
    /// Answers that asked to come back later.
    pub overloaded: u64,
    /// Operations that were refused.
    pub errors: u64,
    /// Reads that saw an older value than they may.
    pub stale_reads: u64,
    /// Reads that saw a value that nobody wrote.
    pub phantom_reads: u64,
    /// Reads that could not be judged because of other writers or too many lost writes.
    pub unchecked_reads: u64,
    /// Answers to requests that were over: duplicates, and those behind the deadline.
    pub late_replies: u64,
    /// Frames that no client can have been meant by.
    pub malformed: u64,
    /// Writes given up because nobody can tell whether they were done (write-back only).
    pub unknown: u64,
    /// Answers of a switch that were not taken, because it is dead or because nobody would have
    /// collected what it said (write-back only). Their requests went on.
    pub ignored: u64,
    /// Most records that were kept at a time (write-back only).
    pub preserved: u64,
}

/// Counts of a server since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Requests of clients taken up.
    pub served: u64,
    /// Reads among them.
    pub reads: u64,
    /// Keys that they asked for (multigets only).
    pub keys_read: u64,
    /// Writes among them.
    pub writes: u64,
    /// Deletes among them.
    pub deletes: u64,
    /// Requests dropped because the service queue was full.
    pub dropped: u64,
    /// Writes answered with "overloaded" because too many wait for their key.
    pub overloaded: u64,
    /// Copies of requests that had been taken up before.
    pub duplicates: u64,
    /// Copies of requests too old to tell.
    pub late: u64,
    /// Frames that are not netkv's.
    pub malformed: u64,
    /// Requests for keys of another server.
    pub wrong_partition: u64,
    /// Frames that no server expects, among them replies to questions that are settled.
    pub unexpected: u64,
    /// Writes that needed an invalidation of their own.
    pub slow_writes: u64,
    /// Updates sent to the switch, retries not counted.
    pub updates: u64,
    /// Own frames sent again.
    pub retries: u64,
    /// Storage calls that failed.
    pub failures: u64,
    /// Records offered to the controller, retries not counted.
    pub offers: u64,
    /// Records of the controller that were newer than the stored ones.
    pub restored: u64,
    /// Writes of clients without effect, because a newer one had been there before.
    pub guarded: u64,
    /// Writes answered with "unknown".
    pub unknown: u64,
    /// Tombstones dropped.
    pub dropped_tombstones: u64,
}
