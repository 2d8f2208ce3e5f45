//! The history checker: tests whether the operations on each key are linearizable.
//!
//! # Model
//!
//! Each key is a register. An operation is an interval between two events: its invocation (the
//! request is first sent) and its response. Two operations are concurrent if their intervals
//! overlap; else the earlier one precedes the later one.
//!
//! A linearization is a total order of the operations that extends this partial order, and in which
//! each read returns the last value written before it. A history is linearizable if it has a
//! linearization (Herlihy and Wing, "Linearizability", TOPLAS 1990).
//!
//! A pending operation has no response. A pending write may have taken effect or not; a pending
//! read is ignored. A refused write has not taken effect: no read may return its value.
//!
//! Where caches may answer with replaced values, a history can also be checked against a weaker
//! condition ([`Condition::Regular`]), by which reads say nothing about the order of writes.
//!
//! # Algorithm
//!
//! Every write has a unique value. So a read determines the write that it returned, its dictating
//! write. A write and its reads are a cluster, and they are contiguous in every linearization. Such
//! a history is decided in O(n log n) by the zones of its clusters (Gibbons and Korach, "Testing
//! shared memories", SIAM J. Comput. 1997). `witness.rs` has the rule.
//!
//! This checker is online. Events arrive in order, and a read is judged at its response, against
//! the clusters that it can still belong to. Clusters that no pending or future read can return are
//! dropped. A read that returned "not found" does not determine which delete it returned. The
//! checker then follows several assignments of reads to deletes, which `not_found.rs` explains.
//!
//! ```text
//!   operation       operations and their intervals
//!   event_clock     a total order of all events
//!   cluster         a write and its reads
//!   witness         the zones of the clusters, and whether they permit a read
//!   register        the history of one key          not_found: reads without a value
//!   compact         the history of a key without operations, in 8 bytes
//!   histories       the histories of all keys       pending_reads: reads of all keys
//!   refused         refused writes
//!   dropped         dropped clusters, for reports
//!   counterexample  a minimal part of a history that is not linearizable
//!   violation       a report                        violation_log: the first reports
//!   condition       what the reads of a key must satisfy
//!   linearizability records operations, and judges each read: the interface
//! ```
//!
//! # Guarantees
//!
//! - Sound: a violation is reported only if the history of its key is not linearizable, whatever
//!   messages were lost, duplicated or given up.
//! - Complete, except for reads that are reported as unchecked. A read is unchecked if
//!   - its key had more given-up writes than are kept ([`MAX_GIVEN_UP`]);
//!   - it was pending for more than [`MAX_COMPLETED_CLUSTERS`] writes of its key;
//!   - its key needs more than [`MAX_WITNESSES`] assignments of reads to deletes.
//!
//! There is no I/O and no clock. Memory is bounded by the number of pending operations, the limits
//! and the number of keys. A written key that is not in use takes 18 bytes, for any number of past
//! operations (see [`KeyTable`](netkv_workload::KeyTable)).

#![forbid(unsafe_code)]

mod cluster;
mod compact;
mod condition;
mod counterexample;
mod dropped;
mod event_clock;
mod histories;
mod linearizability;
mod not_found;
mod operation;
mod pending_reads;
mod refused;
mod register;
mod violation;
mod violation_log;
mod witness;

pub use condition::Condition;
pub use linearizability::{Answer, Checker, MAX_GIVEN_UP_IN_ALL, ReadTicket, Summary, Verdict};
pub use not_found::MAX_WITNESSES;
pub use operation::{Observed, WriteId, WriteKind};
pub use register::{MAX_COMPLETED_CLUSTERS, MAX_GIVEN_UP};
pub use violation::{Operation, OperationKind, Request, Violation, ViolationKind};
pub use violation_log::MAX_VIOLATIONS;
