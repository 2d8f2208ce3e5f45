//! Words of the state area that the graphs before and after a pipeline use (read) and define
//! (write).

use netkv_ir::{Cfg, Program, Terminator, Word};

use crate::effects::{self, Change};
use crate::flow::BitSet;
use crate::reads::Reads;

/// Words that some graphs use and define.
pub(crate) struct UseDef<'a> {
    program: &'a Program,
    read: BitSet,
    written: BitSet,
}

impl<'a> UseDef<'a> {
    /// The sets of no graph: both are empty.
    pub(crate) fn new(program: &'a Program) -> Self {
        let none = BitSet::new(program.state_words as usize);
        Self { program, read: none.clone(), written: none }
    }

    pub(crate) fn uses(&self, word: Word) -> bool {
        self.read.contains(word as usize)
    }

    pub(crate) fn defines(&self, word: Word) -> bool {
        self.written.contains(word as usize)
    }

    /// Adds a graph.
    pub(crate) fn add_graph(&mut self, cfg: &Cfg) {
        for block in &cfg.blocks {
            for effect in block.ops.iter().filter_map(|op| effects::of(self.program, op)) {
                self.reads(&effect.reads);
                effect.changes.iter().for_each(|change| self.change(change));
            }
            let mut reads = Reads::new(self.program);
            match &block.terminator {
                Terminator::Branch { cond, .. } => reads.condition(cond, 0),
                Terminator::Select { keys, .. } => {
                    keys.iter().for_each(|key| reads.operand(key, 0))
                }
                Terminator::Apply(apply) => apply.keys.iter().for_each(|key| reads.operand(key, 0)),
                Terminator::Jump(_) | Terminator::Exit => {}
            }
            self.reads(&reads);
        }
    }

    fn reads(&mut self, reads: &Reads<'_>) {
        for read in &reads.found {
            self.read.insert(read.word as usize);
        }
    }

    fn change(&mut self, change: &Change<'_>) {
        let (to, words) = match *change {
            Change::Value(place, _) => (place.word, place.words()),
            Change::SetOne(word) | Change::Outcome(word) => (word, 1),
            Change::Copy { to, words, .. }
            | Change::Zero { to, words }
            | Change::Unknown { to, words }
            | Change::Partial { to, words } => (to, words),
            Change::Reinterpret { .. } => return,
        };
        for word in to..to + words {
            self.written.insert(word as usize);
        }
    }

    /// Adds the definitions by the switch itself, before the program begins.
    pub(crate) fn add_switch_inputs(&mut self) {
        for place in self.program.standard_metadata.places() {
            self.change(&Change::Unknown { to: place.word, words: place.words() });
        }
    }

    /// Adds the uses by the switch itself, and the fields that copies of a packet keep.
    pub(crate) fn add_switch_outputs(&mut self) {
        let standard = &self.program.standard_metadata;
        let places = [standard.egress_spec, standard.mcast_grp, standard.priority];
        let kept = self.program.field_lists.iter().flat_map(|list| {
            let places = list.places.iter().map(|place| (place.word, place.words()));
            places.chain(list.regions.iter().copied())
        });
        let places = places.iter().map(|place| (place.word, place.words()));
        for (word, words) in places.chain(kept) {
            for word in word..word + words {
                self.read.insert(word as usize);
            }
        }
    }
}
