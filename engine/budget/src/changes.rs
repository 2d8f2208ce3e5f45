//! What a node of the walk leaves in the state.

use std::rc::Rc;

use netkv_ir::{Expr, Value, Word};

use crate::dependencies::{Edge, NodeId};
use crate::effects::{Change, Kind};
use crate::held::{Held, State, union};
use crate::numbers::Number;
use crate::reads::Reads;
use crate::walk::Walk;

impl Walk<'_> {
    /// A node changes what words hold.
    pub(crate) fn change(&mut self, state: &mut State, node: NodeId, change: &Change<'_>) {
        match *change {
            Change::Value(place, value) => {
                let number = state.expr(&mut self.numbers, value);
                let numbers = self.numbers.parts(number, place.words());
                let held = self.values(state, node, value, &numbers);
                for ((word, held), number) in (place.word..).zip(held).zip(numbers) {
                    self.replace(state, node, word);
                    match held {
                        Some(held) => state.put(word, held),
                        None => state.put_new(word, number, node),
                    }
                }
            }
            Change::Copy { to, from, words } => {
                let held: Vec<Held> =
                    (from..from + words).map(|word| state.held(&mut self.numbers, word)).collect();
                for (word, held) in (to..).zip(held) {
                    self.replace(state, node, word);
                    state.put(word, Held { put_by: Rc::from([node]), ..held });
                }
            }
            Change::Zero { to, words } => {
                let number = self.numbers.zero();
                for word in to..to + words {
                    self.replace(state, node, word);
                    state.put_constant(word, number, Some(node));
                }
            }
            Change::One(word) => {
                let number = self.numbers.constant(&Value::new(1, 1));
                self.replace(state, node, word);
                state.put_constant(word, number, Some(node));
            }
            Change::New { to, words } => {
                for word in to..to + words {
                    let number = self.numbers.fresh();
                    self.replace(state, node, word);
                    state.put_new(word, number, node);
                }
            }
            Change::Outcome(word) => {
                let number = self.numbers.fresh();
                state.put_new(word, number, node);
            }
            Change::Partly { to, words } => {
                for word in to..to + words {
                    let number = self.numbers.fresh();
                    let put: [Rc<[NodeId]>; 2] =
                        [state.held(&mut self.numbers, word).put_by, Rc::from([node])];
                    let by = union(put.iter());
                    let homes = Rc::from([word]);
                    state.put(word, Held { number, made_by: Rc::clone(&by), put_by: by, homes });
                    self.found.nodes[node].writes.push(word);
                }
            }
            Change::Forget { to, words } => {
                for word in to..to + words {
                    let number = self.numbers.fresh();
                    let held = state.held(&mut self.numbers, word);
                    state.put(word, Held { number, ..held });
                }
            }
        }
    }

    /// What the words of an assigned value hold; None is what the node itself makes.
    fn values(
        &mut self,
        state: &State,
        node: NodeId,
        value: &Expr,
        numbers: &[Number],
    ) -> Vec<Option<Held>> {
        let put_by: Rc<[NodeId]> = Rc::from([node]);
        match (self.found.nodes[node].kind, value) {
            (Kind::Set, _) => {
                let none = (Rc::from([]), Rc::from([]));
                let held = |number: &Number| {
                    let (made_by, homes) = none.clone();
                    Some(Held { number: *number, made_by, put_by: Rc::clone(&put_by), homes })
                };
                numbers.iter().map(held).collect()
            }
            (Kind::Move, value) => {
                let mut reads = Reads::new(self.program);
                reads.made(value, 0);
                let from: Vec<Held> = reads
                    .found
                    .iter()
                    .map(|read| state.held(&mut self.numbers, read.word))
                    .collect();
                let whole = matches!(value, Expr::Load(_)) && from.len() == numbers.len();
                let held = |(at, number): (usize, &Number)| {
                    let of = if whole { &from[at..=at] } else { &from[..] };
                    Some(Held {
                        number: *number,
                        made_by: union(of.iter().map(|held| &held.made_by)),
                        put_by: Rc::clone(&put_by),
                        homes: union(of.iter().map(|held| &held.homes)),
                    })
                };
                numbers.iter().enumerate().map(held).collect()
            }
            _ => numbers.iter().map(|_| None).collect(),
        }
    }

    /// A node writes a word over what was there.
    fn replace(&mut self, state: &State, node: NodeId, word: Word) {
        self.found.nodes[node].writes.push(word);
        let Some(held) = state.get(word) else { return };
        for &earlier in held.put_by.iter().filter(|earlier| **earlier != node) {
            let distance = u32::from(self.found.nodes[earlier].kind != Kind::Set);
            self.found.nodes[node].replaces.push(Edge { node: earlier, distance });
        }
    }
}
