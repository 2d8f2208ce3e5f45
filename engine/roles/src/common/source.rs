//! Where the operations of clients come from: a load, or users. A protocol takes operations from its
//! source, carries them out, and reports how they end.

use std::fmt::Debug;

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::Key;
use netkv_workload::{OpKind, Operation, Workload};

use super::load::Load;
use super::senders::Senders;
use crate::{ClientCounts, Nanos};

/// What a source keeps of an operation under way.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    pub(crate) kind: OpKind,
    /// For a load, the id of its key; for users, their token or the number of their operation.
    pub(crate) number: u64,
    /// Whether it is a read of the final verification.
    pub(crate) verifies: bool,
    pub(crate) intended: Nanos,
}

/// A key of an operation.
#[derive(Debug)]
pub struct Asked<'a> {
    pub(crate) key: &'a Key,
    /// Whether the key has an initial value.
    pub(crate) exists: bool,
    /// Of a read that is judged and has no answer yet.
    pub(crate) ticket: &'a mut Option<ReadTicket>,
}

/// An operation under way, in any protocol.
pub trait UnderWay {
    /// Draws an operation of a load, which is closed or open; `ids` then has the ids of its keys, if
    /// the protocol has several.
    fn draw(workload: &mut Workload, closed: bool, ids: &mut Vec<u64>) -> Operation;

    /// What its source keeps of it.
    fn tag(&self) -> Tag;

    /// Identifies it for the checker.
    fn id(&self) -> WriteId;

    /// Whether its current requests read. A read-modify-write first reads, then writes.
    fn reads(&self) -> bool;

    /// The key that it writes.
    fn key(&self) -> &Key;

    /// All of its keys.
    fn keys(&mut self) -> impl Iterator<Item = Asked<'_>>;
}

/// A source of operations of type `O`.
pub trait Source<O>: Debug + Send + Sync + 'static {
    /// Counts of the clients.
    fn counts(&self) -> &ClientCounts;

    /// The counts, to add to them.
    fn counts_mut(&mut self) -> &mut ClientCounts;

    /// When an operation arrives or is given up before it starts; `Nanos::MAX` for never.
    fn due(&self) -> Nanos;

    /// Handles the arrivals that are due.
    fn poll(&mut self, _now: Nanos) {}

    /// The next operation, if one may start now, with `outstanding` others under way. `has_room`
    /// returns whether there is a request number for it; `make` makes one that a load has drawn.
    fn next(
        &mut self,
        now: Nanos,
        outstanding: usize,
        has_room: impl FnMut() -> bool,
        make: impl FnOnce(&Load, Operation, Tag, Nanos) -> O,
    ) -> Option<O>;

    /// The requests of an operation are about to be sent for the first time.
    fn begin(&mut self, _now: Nanos, _operation: &mut O) {}

    /// Writes the value of a write.
    fn fill(&self, operation: &O, value: &mut [u8]);

    /// The key of an operation with this index was read.
    fn on_value(
        &mut self,
        now: Nanos,
        operation: &mut O,
        index: usize,
        value: Option<&[u8]>,
        senders: &Senders,
    );

    /// All requests of an operation were answered: it was `found` what it is about, and a cache has
    /// answered if it is a `hit`. It ends, unless it `goes_on` with others.
    fn on_done(&mut self, now: Nanos, operation: &O, found: bool, hit: bool, goes_on: bool);

    /// An operation was refused, for this reason.
    fn on_refused(&mut self, now: Nanos, operation: &mut O, hit: bool, why: &str);

    /// A conditional write was refused as its condition did not hold; if that is not `certain`, a
    /// copy of it may have taken effect.
    fn on_conflict(&mut self, _now: Nanos, _operation: &mut O, _certain: bool) {}

    /// It is unknown whether a write has taken effect.
    fn on_unknown(&mut self, _operation: &mut O) {}

    /// An operation has ended at its deadline, or in a crash.
    fn on_lost(&mut self, operation: &mut O);

    /// The process is going to end.
    fn leave(&mut self) {}
}
