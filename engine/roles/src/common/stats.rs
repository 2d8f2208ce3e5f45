//! Counters of the roles.

use hdrhistogram::Histogram;

/// Longest latency that the histogram resolves, in nanoseconds.
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

/// Counters of a client since they were last taken.
#[derive(Debug, Clone)]
pub struct ClientStats {
    /// Counts that all protocols have.
    pub counts: ClientCounts,
    /// Counts and gauges of the protocol; empty until they are taken.
    pub own: Counts,
    /// Latency of the completed operations in nanoseconds, from the intended start.
    pub latency: Histogram<u64>,
    /// Latency of those for other servers than the first of a turn, if servers take turns.
    pub latency_of_other: Option<Box<Histogram<u64>>>,
}

impl Default for ClientStats {
    fn default() -> Self {
        let (counts, own) = (ClientCounts::default(), Counts::new());
        Self { counts, own, latency: histogram(), latency_of_other: None }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY, 3)
        .expect("1 ns to 2 minutes with 3 digits are bounds of a histogram")
}

impl ClientStats {
    /// Sets everything to 0 and keeps the memory.
    pub fn clear(&mut self) {
        self.counts = ClientCounts::default();
        self.own.clear();
        self.latency.reset();
        self.latency_of_other = None;
    }

    /// The latency of operations for other servers than the first of a turn.
    pub(crate) fn of_other(&mut self) -> &mut Histogram<u64> {
        self.latency_of_other.get_or_insert_with(|| Box::new(histogram()))
    }
}

counts! {
    /// Counts of a client.
    pub struct ClientCounts {
        /// Frames sent, retries included.
        requests,
        /// Operations that ended with an answer (a read-modify-write is one).
        completed,
        /// Those for the first server of a turn, if servers take turns.
        completed_of_first,
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
        /// Operations that were waiting to start when the load ended, or became a closed loop.
        discarded,
        /// Reads that found no value.
        not_found,
        /// Answers with the status "overloaded".
        overloaded,
        /// Operations that were refused.
        errors,
        /// Conditional writes that were refused because their key had changed.
        conflicts,
        /// Reads that returned an older value than allowed.
        stale_reads,
        /// How long the values of stale reads had been replaced when the reads began, added up, in
        /// nanoseconds.
        stale_ns,
        /// The longest of these times.
        longest_stale_ns,
        /// Reads that returned a value that was never written, or that of a refused write.
        phantom_reads,
        /// Reads that could not be judged because of other writers or too many lost writes.
        unchecked_reads,
        /// Answers to requests that have ended: duplicates, and answers after the deadline.
        late_replies,
        /// Frames that answer no request that was ever sent.
        malformed,
        /// Writes given up after an answer with the status "unknown".
        unknown,
        /// Answers that the protocol did not accept. Their requests stayed pending.
        ignored,
    }
}

counts! {
    /// Counts of a server since it started.
    pub struct ServerStats {
        /// Requests of clients accepted.
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
        /// Copies of requests that were accepted before.
        duplicates,
        /// Requests that are older than the deduplication window.
        late,
        /// Frames that are not valid frames of netkv.
        malformed,
        /// Requests for keys of another server.
        wrong_partition,
        /// Unexpected frames, among them replies to requests of the server that have ended.
        unexpected,
        /// Own frames sent again.
        retries,
        /// Storage calls that failed.
        failures,
    }
}
