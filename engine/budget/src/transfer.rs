//! Transfer function of the data-flow analysis: how a node changes the reaching definitions.

use std::rc::Rc;

use netkv_ir::{Expr, Value, Word};

use crate::dataflow::Dataflow;
use crate::effects::{Change, Kind};
use crate::nodes::{Edge, NodeId};
use crate::reaching_definitions::{ReachingDefinitions, WordValue, union};
use crate::reads::Reads;
use crate::value_numbering::ValueNumber;

impl Dataflow<'_> {
    /// Applies a change by a node.
    pub(crate) fn change(
        &mut self,
        state: &mut ReachingDefinitions,
        node: NodeId,
        change: &Change<'_>,
    ) {
        match *change {
            Change::Value(place, value) => {
                let number = state.expr(&mut self.numbering, value);
                let numbers = self.numbering.parts(number, place.words());
                let values = self.values(state, node, value, &numbers);
                for ((word, word_value), number) in (place.word..).zip(values).zip(numbers) {
                    self.record_write(state, node, word);
                    match word_value {
                        Some(word_value) => state.set(word, word_value),
                        None => state.set_result(word, number, node),
                    }
                }
            }
            Change::Copy { to, from, words } => {
                let values: Vec<WordValue> = (from..from + words)
                    .map(|word| state.value(&mut self.numbering, word))
                    .collect();
                for (word, word_value) in (to..).zip(values) {
                    self.record_write(state, node, word);
                    state.set(word, WordValue { writers: Rc::from([node]), ..word_value });
                }
            }
            Change::Zero { to, words } => {
                let number = self.numbering.zero();
                for word in to..to + words {
                    self.record_write(state, node, word);
                    state.set_constant(word, number, Some(node));
                }
            }
            Change::SetOne(word) => {
                let number = self.numbering.constant(&Value::new(1, 1));
                self.record_write(state, node, word);
                state.set_constant(word, number, Some(node));
            }
            Change::Unknown { to, words } => {
                for word in to..to + words {
                    let number = self.numbering.fresh();
                    self.record_write(state, node, word);
                    state.set_result(word, number, node);
                }
            }
            Change::Outcome(word) => {
                let number = self.numbering.fresh();
                state.set_result(word, number, node);
            }
            Change::Partial { to, words } => {
                for word in to..to + words {
                    let number = self.numbering.fresh();
                    let put: [Rc<[NodeId]>; 2] =
                        [state.value(&mut self.numbering, word).writers, Rc::from([node])];
                    let by = union(put.iter());
                    let originals = Rc::from([word]);
                    state.set(
                        word,
                        WordValue { number, producers: Rc::clone(&by), writers: by, originals },
                    );
                    self.found.nodes[node].writes.push(word);
                }
            }
            Change::Reinterpret { to, words } => {
                for word in to..to + words {
                    let number = self.numbering.fresh();
                    let word_value = state.value(&mut self.numbering, word);
                    state.set(word, WordValue { number, ..word_value });
                }
            }
        }
    }

    /// The values of the words of an assigned expression; None if the node computes it.
    fn values(
        &mut self,
        state: &ReachingDefinitions,
        node: NodeId,
        value: &Expr,
        numbers: &[ValueNumber],
    ) -> Vec<Option<WordValue>> {
        let writers: Rc<[NodeId]> = Rc::from([node]);
        match (self.found.nodes[node].kind, value) {
            (Kind::Set, _) => {
                let none = (Rc::from([]), Rc::from([]));
                let value_of = |number: &ValueNumber| {
                    let (producers, originals) = none.clone();
                    Some(WordValue {
                        number: *number,
                        producers,
                        writers: Rc::clone(&writers),
                        originals,
                    })
                };
                numbers.iter().map(value_of).collect()
            }
            (Kind::Move, value) => {
                let mut reads = Reads::new(self.program);
                reads.result(value, 0);
                let from: Vec<WordValue> = reads
                    .found
                    .iter()
                    .map(|read| state.value(&mut self.numbering, read.word))
                    .collect();
                let word_by_word = matches!(value, Expr::Load(_)) && from.len() == numbers.len();
                let value_of = |(at, number): (usize, &ValueNumber)| {
                    let of = if word_by_word { &from[at..=at] } else { &from[..] };
                    Some(WordValue {
                        number: *number,
                        producers: union(of.iter().map(|source| &source.producers)),
                        writers: Rc::clone(&writers),
                        originals: union(of.iter().map(|source| &source.originals)),
                    })
                };
                numbers.iter().enumerate().map(value_of).collect()
            }
            _ => numbers.iter().map(|_| None).collect(),
        }
    }

    /// Records that a node writes a word, and which earlier writes it overwrites.
    fn record_write(&mut self, state: &ReachingDefinitions, node: NodeId, word: Word) {
        self.found.nodes[node].writes.push(word);
        let Some(word_value) = state.get(word) else { return };
        for &earlier in word_value.writers.iter().filter(|earlier| **earlier != node) {
            let distance = u32::from(self.found.nodes[earlier].kind != Kind::Set);
            self.found.nodes[node].overwrites.push(Edge { node: earlier, distance });
        }
    }
}
