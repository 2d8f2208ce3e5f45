//! Reaching definitions: for each word of the state area, its value at one point of a graph and
//! the nodes that can have written it.

use std::collections::BTreeMap;
use std::rc::Rc;

use netkv_ir::{BlockId, Expr, Word};

use crate::nodes::NodeId;
use crate::value_numbering::{ValueNumber, ValueNumbering};

/// The value of a word.
#[derive(Debug, Clone)]
pub(crate) struct WordValue {
    pub(crate) number: ValueNumber,
    /// The nodes that computed the value. Copies are propagated: the producers of a copy are those
    /// of the original, unless another path gives the word another value.
    pub(crate) producers: Rc<[NodeId]>,
    /// The nodes whose write of this word reaches here.
    pub(crate) writers: Rc<[NodeId]>,
    /// The words that have the original, if the value is a copy; else the word itself.
    pub(crate) originals: Rc<[Word]>,
}

/// The values of the words that were written since the entry of the graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReachingDefinitions(BTreeMap<Word, WordValue>);

impl ReachingDefinitions {
    pub(crate) fn get(&self, word: Word) -> Option<&WordValue> {
        self.0.get(&word)
    }

    pub(crate) fn number(&self, numbering: &mut ValueNumbering, word: Word) -> ValueNumber {
        self.0.get(&word).map_or_else(|| numbering.initial(word), |word_value| word_value.number)
    }

    /// The value number of an expression at this point.
    pub(crate) fn expr(&self, numbering: &mut ValueNumbering, expr: &Expr) -> ValueNumber {
        numbering.expr(expr, &mut |numbering, word| self.number(numbering, word))
    }

    /// The value of a word at the entry of the graph.
    fn initial(&self, numbering: &mut ValueNumbering, word: Word) -> WordValue {
        let (none, here) = (Rc::from([]), Rc::from([word]));
        WordValue {
            number: numbering.initial(word),
            producers: Rc::clone(&none),
            writers: none,
            originals: here,
        }
    }

    pub(crate) fn value(&self, numbering: &mut ValueNumbering, word: Word) -> WordValue {
        self.0.get(&word).cloned().unwrap_or_else(|| self.initial(numbering, word))
    }

    /// All words that were written.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Word, &WordValue)> {
        self.0.iter().map(|(word, word_value)| (*word, word_value))
    }

    pub(crate) fn set(&mut self, word: Word, word_value: WordValue) {
        self.0.insert(word, word_value);
    }

    /// Sets a word to a value that the node computes.
    pub(crate) fn set_result(&mut self, word: Word, number: ValueNumber, node: NodeId) {
        let by: Rc<[NodeId]> = Rc::from([node]);
        let word_value = WordValue {
            number,
            producers: Rc::clone(&by),
            writers: by,
            originals: Rc::from([word]),
        };
        self.0.insert(word, word_value);
    }

    /// Sets a word to a constant. It has no producers: a reader depends on no node.
    pub(crate) fn set_constant(&mut self, word: Word, number: ValueNumber, node: Option<NodeId>) {
        let word_value = WordValue {
            number,
            producers: Rc::from([]),
            writers: node.into_iter().collect(),
            originals: Rc::from([]),
        };
        self.0.insert(word, word_value);
    }

    /// The state at the entry of a block, from the states at the ends of its predecessors.
    pub(crate) fn join(
        numbering: &mut ValueNumbering,
        block: BlockId,
        from: &[Rc<ReachingDefinitions>],
    ) -> ReachingDefinitions {
        let [first, others @ ..] = from else { return ReachingDefinitions::default() };
        let mut joined = (**first).clone();
        if others.is_empty() {
            return joined;
        }
        let words: Vec<Word> = from.iter().flat_map(|state| state.0.keys().copied()).collect();
        for word in words {
            let incoming: Vec<WordValue> =
                from.iter().map(|state| state.value(numbering, word)).collect();
            let number = incoming[0].number;
            let word_value = if incoming.iter().all(|value| value.number == number) {
                WordValue {
                    number,
                    producers: union(incoming.iter().map(|value| &value.producers)),
                    writers: union(incoming.iter().map(|value| &value.writers)),
                    originals: union(incoming.iter().map(|value| &value.originals)),
                }
            } else {
                let writers = union(incoming.iter().map(|value| &value.writers));
                let number = numbering.phi(block, word);
                WordValue {
                    number,
                    producers: Rc::clone(&writers),
                    writers,
                    originals: Rc::from([word]),
                }
            };
            joined.0.insert(word, word_value);
        }
        joined
    }
}

/// The sorted union of sets. It allocates nothing if all are the same.
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
