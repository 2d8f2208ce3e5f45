//! What the words of the state area hold at one place of a graph, and who has put it there.

use std::collections::BTreeMap;
use std::rc::Rc;

use netkv_ir::{BlockId, Expr, Word};

use crate::dependencies::NodeId;
use crate::numbers::{Number, Numbers};

/// What a word holds.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) number: Number,
    /// Who has made the value. A field that was only copied names those who made the original,
    /// as long as no other way leads to another value: whoever reads it may read the original.
    pub(crate) made_by: Rc<[NodeId]>,
    /// Who has put it into this word.
    pub(crate) put_by: Rc<[NodeId]>,
    /// Where the original is.
    pub(crate) homes: Rc<[Word]>,
}

/// The words that have been written since the graph began.
#[derive(Debug, Clone, Default)]
pub(crate) struct State(BTreeMap<Word, Held>);

impl State {
    pub(crate) fn get(&self, word: Word) -> Option<&Held> {
        self.0.get(&word)
    }

    pub(crate) fn number(&self, numbers: &mut Numbers, word: Word) -> Number {
        self.0.get(&word).map_or_else(|| numbers.initial(word), |held| held.number)
    }

    /// The number of an expression here.
    pub(crate) fn expr(&self, numbers: &mut Numbers, expr: &Expr) -> Number {
        numbers.expr(expr, &mut |numbers, word| self.number(numbers, word))
    }

    /// A word holds what the graph found in it.
    fn initial(&self, numbers: &mut Numbers, word: Word) -> Held {
        let (none, here) = (Rc::from([]), Rc::from([word]));
        Held { number: numbers.initial(word), made_by: Rc::clone(&none), put_by: none, homes: here }
    }

    pub(crate) fn held(&self, numbers: &mut Numbers, word: Word) -> Held {
        self.0.get(&word).cloned().unwrap_or_else(|| self.initial(numbers, word))
    }

    /// Everything that has been written.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Word, &Held)> {
        self.0.iter().map(|(word, held)| (*word, held))
    }

    pub(crate) fn put(&mut self, word: Word, held: Held) {
        self.0.insert(word, held);
    }

    /// A word holds what a node has made.
    pub(crate) fn put_new(&mut self, word: Word, number: Number, node: NodeId) {
        let by: Rc<[NodeId]> = Rc::from([node]);
        let held = Held { number, made_by: Rc::clone(&by), put_by: by, homes: Rc::from([word]) };
        self.0.insert(word, held);
    }

    /// A word holds a constant: whoever reads it needs nobody.
    pub(crate) fn put_constant(&mut self, word: Word, number: Number, node: Option<NodeId>) {
        let held = Held {
            number,
            made_by: Rc::from([]),
            put_by: node.into_iter().collect(),
            homes: Rc::from([]),
        };
        self.0.insert(word, held);
    }

    /// What holds where a packet may come from any of these.
    pub(crate) fn join(numbers: &mut Numbers, block: BlockId, from: &[Rc<State>]) -> State {
        let [first, others @ ..] = from else { return State::default() };
        let mut joined = (**first).clone();
        if others.is_empty() {
            return joined;
        }
        let words: Vec<Word> = from.iter().flat_map(|state| state.0.keys().copied()).collect();
        for word in words {
            let ways: Vec<Held> = from.iter().map(|state| state.held(numbers, word)).collect();
            let number = ways[0].number;
            let held = if ways.iter().all(|way| way.number == number) {
                Held {
                    number,
                    made_by: union(ways.iter().map(|way| &way.made_by)),
                    put_by: union(ways.iter().map(|way| &way.put_by)),
                    homes: union(ways.iter().map(|way| &way.homes)),
                }
            } else {
                let put_by = union(ways.iter().map(|way| &way.put_by));
                let number = numbers.merged(block, word);
                Held { number, made_by: Rc::clone(&put_by), put_by, homes: Rc::from([word]) }
            };
            joined.0.insert(word, held);
        }
        joined
    }
}

/// All of them, in order, once each.
pub(crate) fn union<'a, T: Ord + Copy + 'a>(
    sets: impl Iterator<Item = &'a Rc<[T]>> + Clone,
) -> Rc<[T]> {
    let mut first = sets.clone();
    if let Some(one) = first.next()
        && first.all(|other| Rc::ptr_eq(one, other) || one == other)
    {
        return Rc::clone(one);
    }
    let mut all: Vec<T> = sets.flat_map(|set| set.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    Rc::from(all)
}
