//! What decisions on a path have shown of a packet, beyond the values of single words.
//!
//! A parser that has verified that two lengths agree, or compared some bits of a field, need not do
//! it again for a packet that comes back with the same fields (see [`crate::recirculations`]).

use std::rc::Rc;

use netkv_ir::{Expr, Pattern, Word};

use crate::words::{Words, visit_all};

/// Patterns that expressions match, and words that are equal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Decided {
    matched: Vec<Rc<Matched>>,
    copies: Vec<[Word; 2]>,
}

/// An expression of words that matches a pattern.
#[derive(Debug, PartialEq)]
struct Matched {
    expr: Expr,
    pattern: Pattern,
    /// The words that it reads.
    words: Vec<Word>,
}

impl Decided {
    /// After an expression has matched a pattern.
    pub(crate) fn matches(&mut self, expr: &Expr, pattern: &Pattern) {
        let (mut words, mut only_words) = (Vec::new(), true);
        visit_all(expr, &mut |part| match part {
            Expr::Load(place) => words.extend(place.word..place.word + place.words()),
            Expr::LoadElement { .. } | Expr::PacketLength => only_words = false,
            _ => {}
        });
        if only_words && !words.is_empty() && !self.is_match(expr, pattern) {
            let (expr, pattern) = (expr.clone(), pattern.clone());
            self.matched.push(Rc::new(Matched { expr, pattern, words }));
        }
    }

    /// Whether an expression is known to match a pattern.
    pub(crate) fn is_match(&self, expr: &Expr, pattern: &Pattern) -> bool {
        self.matched.iter().any(|it| it.expr == *expr && it.pattern == *pattern)
    }

    /// After a word was copied to another one.
    pub(crate) fn copied(&mut self, from: Word, to: Word) {
        if from != to {
            self.copies.push([from, to]);
        }
    }

    /// The words that are equal to this one, because one was copied to the other.
    pub(crate) fn equal_to(&self, word: Word) -> Vec<Word> {
        let others = self.copies.iter().filter_map(|pair| match *pair {
            [one, other] if one == word => Some(other),
            [other, one] if one == word => Some(other),
            _ => None,
        });
        others.collect()
    }

    /// Forgets what depends on words that are written.
    pub(crate) fn forget(&mut self, is_written: impl Fn(Word) -> bool) {
        self.matched.retain(|it| !it.words.iter().any(|word| is_written(*word)));
        self.copies.retain(|pair| !pair.iter().any(|word| is_written(*word)));
    }

    /// Keeps what is also known on another path.
    pub(crate) fn join(&mut self, other: &Self) {
        self.matched.retain(|it| other.matched.contains(it));
        self.copies.retain(|pair| other.copies.contains(pair));
    }

    /// Keeps what depends only on these words.
    pub(crate) fn only(&self, words: &Words) -> Self {
        let mut only = self.clone();
        only.forget(|word| !words.contains(word));
        only
    }
}

#[cfg(test)]
mod tests {
    use netkv_ir::{BinaryOp, Place, Value};

    use super::*;

    fn word(word: Word) -> Expr {
        Expr::Load(Place { word, width: 8 })
    }

    fn sum(one: Word, other: Word) -> Expr {
        let [left, right] = [one, other].map(|it| Box::new(word(it)));
        Expr::Binary { op: BinaryOp::Add, left, right, width: 8 }
    }

    fn five() -> Pattern {
        Pattern::Value(Value::new(8, 5))
    }

    #[test]
    fn a_match_is_known_until_a_word_of_it_is_written() {
        let mut decided = Decided::default();
        decided.matches(&sum(1, 2), &five());
        assert!(decided.is_match(&sum(1, 2), &five()));
        assert!(!decided.is_match(&sum(2, 1), &five()));
        assert!(!decided.is_match(&sum(1, 2), &Pattern::Value(Value::new(8, 6))));
        decided.forget(|written| written == 3);
        assert!(decided.is_match(&sum(1, 2), &five()));
        decided.forget(|written| written == 2);
        assert_eq!(decided, Decided::default());
    }

    #[test]
    fn only_words_are_followed() {
        let mut decided = Decided::default();
        let element = Expr::LoadElement {
            stack: 0,
            index: Box::new(word(1)),
            place: Place { word: 2, width: 8 },
        };
        for expr in [element, Expr::PacketLength, Expr::Const(Value::new(8, 5))] {
            decided.matches(&expr, &five());
        }
        assert_eq!(decided, Decided::default());
    }

    #[test]
    fn paths_that_meet_know_what_both_do() {
        let [mut one, mut other] = [Decided::default(), Decided::default()];
        one.matches(&sum(1, 2), &five());
        one.matches(&sum(1, 3), &five());
        one.copied(4, 5);
        other.matches(&sum(1, 3), &five());
        other.copied(5, 4);
        one.join(&other);
        assert!(!one.is_match(&sum(1, 2), &five()) && one.is_match(&sum(1, 3), &five()));
        assert!(one.equal_to(4).is_empty(), "only one of them has copied");
    }
}
