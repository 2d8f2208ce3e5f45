//! Which words the graphs before and after a pipeline read and write.

use netkv_ir::{Cfg, Program, Terminator, Word};

use crate::effects::{self, Change};
use crate::flow::Bits;
use crate::reads::Reads;

/// Words that graphs read and write.
pub(crate) struct Touched<'a> {
    program: &'a Program,
    read: Bits,
    written: Bits,
}

impl<'a> Touched<'a> {
    /// Of no graph yet.
    pub(crate) fn new(program: &'a Program) -> Self {
        let none = Bits::new(program.state_words as usize);
        Self { program, read: none.clone(), written: none }
    }

    pub(crate) fn read(&self, word: Word) -> bool {
        self.read.contains(word as usize)
    }

    pub(crate) fn written(&self, word: Word) -> bool {
        self.written.contains(word as usize)
    }

    /// Adds a graph.
    pub(crate) fn graph(&mut self, cfg: &Cfg) {
        for block in &cfg.blocks {
            for effect in block.ops.iter().filter_map(|op| effects::of(self.program, op)) {
                self.reads(&effect.reads);
                effect.changes.iter().for_each(|change| self.change(change));
            }
            let mut reads = Reads::new(self.program);
            match &block.terminator {
                Terminator::Branch { cond, .. } => reads.decided(cond, 0),
                Terminator::Select { keys, .. } => keys.iter().for_each(|key| reads.ready(key, 0)),
                Terminator::Apply(apply) => apply.keys.iter().for_each(|key| reads.ready(key, 0)),
                Terminator::Jump(_) | Terminator::Exit => {}
            }
            self.reads(&reads);
        }
    }

    fn reads(&mut self, reads: &Reads<'_>) {
        for read in &reads.found {
            self.read.add(read.word as usize);
        }
    }

    fn change(&mut self, change: &Change<'_>) {
        let (to, words) = match *change {
            Change::Value(place, _) => (place.word, place.words()),
            Change::One(word) | Change::Outcome(word) => (word, 1),
            Change::Copy { to, words, .. }
            | Change::Zero { to, words }
            | Change::New { to, words }
            | Change::Partly { to, words } => (to, words),
            Change::Forget { .. } => return,
        };
        for word in to..to + words {
            self.written.add(word as usize);
        }
    }

    /// What the switch itself puts there before the program begins.
    pub(crate) fn arrives(&mut self) {
        for place in self.program.standard_metadata.places() {
            self.change(&Change::New { to: place.word, words: place.words() });
        }
    }

    /// What the switch itself reads, and what copies of the packet keep.
    pub(crate) fn outside(&mut self) {
        let standard = &self.program.standard_metadata;
        let places = [standard.egress_spec, standard.mcast_grp, standard.priority];
        let kept = self.program.field_lists.iter().flat_map(|list| {
            let places = list.places.iter().map(|place| (place.word, place.words()));
            places.chain(list.regions.iter().copied())
        });
        let places = places.iter().map(|place| (place.word, place.words()));
        for (word, words) in places.chain(kept) {
            for word in word..word + words {
                self.read.add(word as usize);
            }
        }
    }
}
