//! Layouts of tables and registers, which code accesses directly.

use netkv_dataplane::{Objects, RegisterLayout};

/// Layouts of the program's objects, which are the same for every switch that runs it.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) registers: Vec<RegisterLayout>,
    pub(crate) searches: Vec<Search>,
}

/// How code looks up a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// In the slots of a [`netkv_dataplane::ExactMap`], of this number of words. A key may be the
    /// number of its slot.
    Exact { slot_words: usize, direct: bool },
    /// In a [`netkv_dataplane::IntervalMap`] with slots of this number of words, or by a helper if
    /// the table has too many entries.
    Intervals { slot_words: usize },
    /// By a helper.
    Helper,
}

impl Search {
    fn of(objects: &Objects, table: usize) -> Self {
        match (objects.exact_map(table), objects.interval_slot_words(table)) {
            (Some(map), _) => Self::Exact { slot_words: map.slot_words(), direct: map.is_direct() },
            (None, Some(slot_words)) => Self::Intervals { slot_words },
            (None, None) => Self::Helper,
        }
    }
}

impl Shapes {
    /// The layouts of the objects of a program.
    pub(crate) fn new(objects: &Objects, tables: usize) -> Self {
        Self {
            registers: objects.registers.layouts().to_vec(),
            searches: (0..tables).map(|table| Search::of(objects, table)).collect(),
        }
    }
}
