//! The rows of a table, and their order.

use super::row::Row;

/// Order of the rows in a table: largest priority first, and the oldest of equal ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) below_largest: u32,
    pub(super) age: u64,
}

/// Rank and row of each entry, by its id.
#[derive(Debug, Default)]
pub(super) struct Rows(pub(super) Vec<Option<(Rank, Row)>>);

impl Rows {
    fn installed(&self, id: u32) -> &(Rank, Row) {
        self.0[id as usize].as_ref().expect("the index names only installed entries")
    }

    pub(super) fn rank(&self, id: u32) -> Rank {
        self.installed(id).0
    }

    pub(super) fn row(&self, id: u32) -> &Row {
        &self.installed(id).1
    }
}
