//! The mutants of the roles, as edits of `engine/roles/src`. The macro and the rules of an edit are
//! in `choices.rs`.

mod farreach;
mod multiget;
mod requests;
mod write_back;
mod write_through;

use crate::choices::{List, Mutant};

/// All lists.
pub fn lists() -> impl Iterator<Item = &'static List> {
    [requests::LISTS, write_through::LISTS, write_back::LISTS, farreach::LISTS, multiget::LISTS]
        .into_iter()
        .flatten()
}

/// All mutants.
pub fn mutants() -> impl Iterator<Item = &'static Mutant> {
    lists().flat_map(|list| list.mutants)
}
