//! Table writes by the thousand: [`PlainWrites`] are those of control planes, which are serialized
//! for P4Runtime or carried out by a simulated switch, and [`PlainUpdates`] those that a P4Runtime
//! server gets.
//!
//! Both handle the common case only, which is a *plain* update: an entry of a table with exact
//! matches, with an action and no resources of its own. Python and protobuf handle everything else,
//! errors included, so that there is one place for each sentence.

mod plain;
mod updates;
mod wire;
mod writes;

pub use updates::PlainUpdates;
pub use writes::PlainWrites;
