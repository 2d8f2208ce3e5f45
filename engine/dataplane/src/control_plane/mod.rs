//! The control-plane API of the switch. It follows the rules of P4Runtime.
//!
//! Requests identify objects by P4Info ids. A rejected request changes nothing, and its error
//! message uses the names of the program.
//!
//! A switch with several pipelines has one instance of each object per pipeline. A write changes
//! all instances. A read of entries, registers or meters returns those of the first pipeline, and
//! a read of counters the sums. [`crate::Switch::in_pipeline`] selects one pipeline instead, so
//! that a caller can let time pass between the writes to two pipelines.
//!
//! `entries`, `extern_objects`, `profiles`, `replication` and `value_sets` add the requests for one
//! kind of object to [`crate::Switch`]. `table_entry` has the entries, and `actions` and
//! `matches` convert parts of them. `pipeline_view` selects the pipelines of a request.

mod actions;
mod entries;
mod extern_objects;
mod matches;
mod pipeline_view;
mod profiles;
mod replication;
mod table_entry;
mod value_sets;

pub use profiles::GroupMember;
pub use table_entry::{EntryAction, EntryState, TableEntry, WeightedAction};
