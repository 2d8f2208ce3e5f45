//! What the roles count.

use hdrhistogram::Histogram;

/// Longest latency that is told apart, in nanoseconds.
const MAX_LATENCY: u64 = 120 * crate::SECOND;

/// Counts and gauges by name, as samples have them.
pub type Counts = Vec<(&'static str, u64)>;

/// Makes a struct of counts that can be listed by name.
macro_rules! counts {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl $name {
            /// All counts by name, in the order of the fields.
            pub fn list(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}
pub(crate) use counts;

/// What a client has seen since this was last taken.
#[derive(Debug, Clone)]
pub struct ClientStats {
    /// Numbers of things.
    pub counts: ClientCounts,
    /// Counts and gauges of the protocol alone, once they were taken.
    pub own: Counts,
    /// Latency of the completed operations in nanoseconds, from the intended start.
    pub latency: Histogram<u64>,
}

impl Default for ClientStats {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1, MAX_LATENCY, 3)
            .expect("1 ns to 2 minutes with 3 digits are bounds of a histogram");
        Self { counts: ClientCounts::default(), own: Counts::new(), latency }
    }
}

impl ClientStats {
    /// Sets everything to 0 and keeps the memory.
    pub fn clear(&mut self) {
        self.counts = ClientCounts::default();
        self.own.clear();
        self.latency.reset();
    }
}

counts! {
    /// Numbers of things that a client has seen.
    pub struct ClientCounts {
        /// Frames sent, retries included.
        requests,
        /// Operations that ended with an answer (a read-modify-write is one).
        completed,
        /// Reads answered.
        reads,
        /// Writes and deletes answered.
        writes,
        /// Reads answered by a switch.
        hits,
        /// Frames sent again.
        retries,
        /// Operations given up at their deadline.
        lost,
        /// Operations never started because too many were waiting (open loop only).
        unsent,
        /// Reads that found no value.
        not_found,
        /// Answers that asked to come back later.
        overloaded,
        /// Operations that were refused.
        errors,
        /// Reads that saw an older value than they may.
        stale_reads,
        /// Reads that saw a value that was never written.
        phantom_reads,
        /// Reads that could not be judged because of other writers or too many lost writes.
        unchecked_reads,
        /// Answers to requests that were over: duplicates, and those behind the deadline.
        late_replies,
        /// Frames that answer no request that was ever sent.
        malformed,
        /// Writes given up because the answer was that their effect is unknown.
        unknown,
        /// Answers that the protocol did not accept. Their requests went on.
        ignored,
    }
}

counts! {
    /// Counts of a server since it started.
    pub struct ServerStats {
        /// Requests of clients taken up.
        served,
        /// Reads among them.
        reads,
        /// Writes among them.
        writes,
        /// Deletes among them.
        deletes,
        /// Requests dropped because the service queue was full.
        dropped,
        /// Writes answered with "overloaded" because too many wait for their key.
        overloaded,
        /// Copies of requests that had been taken up before.
        duplicates,
        /// Copies of requests too old to tell.
        late,
        /// Frames that are not netkv's.
        malformed,
        /// Requests for keys of another server.
        wrong_partition,
        /// Frames that the server does not expect, among them replies to requests of its own that
        /// are over.
        unexpected,
        /// Own frames sent again.
        retries,
        /// Storage calls that failed.
        failures,
    }
}
