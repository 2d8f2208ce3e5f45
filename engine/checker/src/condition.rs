//! The conditions that a history is judged by.

/// What the reads of a key must satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The history is linearizable.
    Linearizable,
    /// The key is a regular register (Lamport, "On Interprocess Communication", 1986) with several
    /// writers: a read returns the value of a write that no other write has replaced. A write
    /// replaces another one if it begins after the end of that one, and ends before the read
    /// begins. So a read says nothing about the order of writes, and reads need not agree.
    Regular,
}
