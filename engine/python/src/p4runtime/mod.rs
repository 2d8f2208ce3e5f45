//! Table writes of P4Runtime on the wire, for batches of thousands: an [`EntryEncoder`] for
//! controllers, and [`PlainUpdates`] for the server.
//!
//! Both handle the common case only, which is a *plain* update: an entry of a table with exact
//! matches, with an action and no resources of its own. Python and protobuf handle everything else,
//! errors included, so that there is one place for each sentence.

mod encoder;
mod plain;
mod updates;
mod wire;

pub use encoder::EntryEncoder;
pub use updates::PlainUpdates;
