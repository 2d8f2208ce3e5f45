//! Match-action tables: their entries, and the lookup of entries by key.
//!
//! ```text
//! table                  entries by id, default action
//!  ├─ entry              an entry and its bound action ─ action_profile: members and groups
//!  └─ index              lookup by key, one structure per kind of table
//!      ├─ exact_map         exact keys: a hash table
//!      ├─ prefix_trie       one lpm key: a trie ─ sparse_array: arrays of its nodes
//!      └─ priority_index    ternary, range and optional keys
//!          └─ row_block        groups of rows in order of priority
//!              └─ bit_planes      which rows accept a byte of the key ─ plane_layout
//! ```
//!
//! `interval_map` copies tables with one range or lpm key for compiled code. `row` has the values
//! and masks of an entry, `ranked_rows` those of a table in their order, `key_bytes` the bytes of a
//! key. `reference_model` is a linear search that tests compare the structures with.

mod action_profile;
mod bit_planes;
mod entry;
mod exact_map;
mod index;
mod interval_map;
mod key_bytes;
mod plane_layout;
mod prefix_trie;
mod priority_index;
mod ranked_rows;
#[cfg(test)]
mod reference_model;
mod row;
mod row_block;
mod sparse_array;
mod table;

pub(crate) use action_profile::{Profile, weighted};
pub(crate) use entry::{BoundAction, Entry, EntryKind};
pub use exact_map::{ExactMap, HASH_KEYS};
pub(crate) use index::TableKind;
pub use interval_map::IntervalMap;
pub(crate) use row::in_range;
pub(crate) use table::Table;
