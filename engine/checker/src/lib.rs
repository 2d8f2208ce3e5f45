//! The history checker: is what clients saw of every key linearizable?
//!
//! Every write has a value of its own, so a key is a register and every read names the write that
//! it saw; such a history can be decided in O(n log n) by the zones of its writes (Gibbons and
//! Korach, "Testing shared memories", SIAM J. Comput. 1997). Here it is decided while it happens:
//! events come in order, each read is judged as it ends against the few writes that it may have
//! seen, and the rest is forgotten. A write without answer may have happened or not, a read
//! without answer says nothing.
//!
//! Guaranteed: a violation is told only if the history of its key has no explanation, whatever
//! was lost, sent twice or given up. Complete, that is every history without explanation is told,
//! except for reads that are told as unchecked: where more writes were given up than are
//! remembered ([`MAX_GIVEN_UP`]), where a read was under way for more than [`MAX_SETTLED`] writes
//! of its key, and where reads that found nothing may have seen so many deletes that more than
//! [`MAX_WORLDS`] explanations would have to be followed.
//!
//! No I/O and no clock. Memory is bounded by what is under way, by the limits and by the keys: 18
//! bytes a written key that nobody uses at present, however many operations it has had (see
//! [`KeyTable`](netkv_workload::KeyTable)).

#![forbid(unsafe_code)]

mod absent;
mod checker;
mod cluster;
mod evidence;
mod found;
mod keys;
mod moments;
mod operation;
mod past;
mod reading;
mod register;
mod settled;
mod violation;
mod world;

pub use absent::MAX_WORLDS;
pub use checker::{Answer, Checker, MAX_GIVEN_UP_IN_ALL, ReadTicket, Summary, Verdict};
pub use found::MAX_VIOLATIONS;
pub use operation::{Observed, WriteId, WriteKind};
pub use register::{MAX_GIVEN_UP, MAX_SETTLED};
pub use violation::{Operation, Request, Violation, ViolationKind, What};
