//! What is known where a packet has come to: which values its conditions have had.

use std::collections::{BTreeMap, BTreeSet};

use crate::numbers::{Condition, Number, Numbers};

/// Conditions that are taken apart for one branch, at most; the rest is known as a whole only.
const MAX_PARTS: u32 = 200;

/// A value as [`crate::numbers::plain`] gives it.
type Plain = Vec<u64>;

/// What is known of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// It is one of these.
    In(BTreeSet<Plain>),
    /// It is none of these.
    NotIn(BTreeSet<Plain>),
}

impl Known {
    /// Both hold.
    fn and(&self, other: &Known) -> Known {
        match (self, other) {
            (Known::In(a), Known::In(b)) => Known::In(a & b),
            (Known::In(a), Known::NotIn(b)) | (Known::NotIn(b), Known::In(a)) => Known::In(a - b),
            (Known::NotIn(a), Known::NotIn(b)) => Known::NotIn(a | b),
        }
    }

    /// One of both holds.
    fn or(&self, other: &Known) -> Known {
        match (self, other) {
            (Known::In(a), Known::In(b)) => Known::In(a | b),
            (Known::In(a), Known::NotIn(b)) | (Known::NotIn(b), Known::In(a)) => {
                Known::NotIn(b - a)
            }
            (Known::NotIn(a), Known::NotIn(b)) => Known::NotIn(a & b),
        }
    }

    /// No value is left.
    fn is_impossible(&self) -> bool {
        matches!(self, Known::In(values) if values.is_empty())
    }
}

/// All that is known at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts(BTreeMap<Number, Known>);

impl Facts {
    /// A value is this constant, or is not.
    pub(crate) fn add(&mut self, number: Number, is: bool, value: Plain) {
        let value = BTreeSet::from([value]);
        let known = if is { Known::In(value) } else { Known::NotIn(value) };
        let known = self.0.get(&number).map_or_else(|| known.clone(), |old| old.and(&known));
        self.0.insert(number, known);
    }

    /// What is known where both may come from.
    pub(crate) fn meet(&mut self, other: &Facts) {
        self.0.retain(|number, known| {
            let Some(theirs) = other.0.get(number) else { return false };
            *known = known.or(theirs);
            !matches!(known, Known::NotIn(values) if values.is_empty())
        });
    }

    /// No packet can be at both places: a value would have to differ from itself.
    pub(crate) fn exclude(&self, other: &Facts) -> bool {
        self.0.iter().any(|(number, known)| {
            other.0.get(number).is_some_and(|theirs| known.and(theirs).is_impossible())
        })
    }

    /// A condition is true, or false.
    pub(crate) fn assume(&mut self, numbers: &Numbers, cond: Number, truth: bool) {
        let mut left = MAX_PARTS;
        self.take_apart(numbers, cond, truth, &mut left);
    }

    fn take_apart(&mut self, numbers: &Numbers, cond: Number, truth: bool, left: &mut u32) {
        if *left == 0 {
            return self.truth(cond, truth);
        }
        *left -= 1;
        match numbers.condition(cond) {
            Condition::Constant => return,
            Condition::Not(of) => return self.take_apart(numbers, of, !truth, left),
            Condition::Both(a, b) if truth => {
                self.take_apart(numbers, a, true, left);
                self.take_apart(numbers, b, true, left);
            }
            Condition::Either(a, b) if !truth => {
                self.take_apart(numbers, a, false, left);
                self.take_apart(numbers, b, false, left);
            }
            Condition::Both(a, b) | Condition::Either(a, b) => {
                let mut other = self.clone();
                self.take_apart(numbers, a, truth, left);
                other.take_apart(numbers, b, truth, left);
                self.meet(&other);
            }
            Condition::Bit { of, is } => self.take_apart(numbers, of, is == truth, left),
            Condition::Equal { of, value, is } => self.add(of, is == truth, value.to_vec()),
            Condition::Other => {}
        }
        self.truth(cond, truth);
    }

    fn truth(&mut self, cond: Number, truth: bool) {
        self.add(cond, true, if truth { vec![1] } else { Vec::new() });
    }
}
