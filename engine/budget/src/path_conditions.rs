//! Path conditions: what the branches on every path to a block imply about values.
//!
//! For each value (see [`crate::value_numbering`]) they have the set of constants that it can have.
//! Two accesses with contradictory path conditions are mutually exclusive.

use std::collections::{BTreeMap, BTreeSet};

use crate::value_numbering::{Condition, ValueNumber, ValueNumbering};

/// Maximum number of conditions into which the condition of one branch is decomposed. Of the
/// remaining ones, only the truth value as a whole is recorded.
const MAX_PARTS: u32 = 200;

/// A value as [`crate::value_numbering::significant_words`] gives it.
type Words = Vec<u64>;

/// The constants that one value can have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ValueSet {
    /// One of these constants.
    OneOf(BTreeSet<Words>),
    /// Any constant except these.
    NoneOf(BTreeSet<Words>),
}

impl ValueSet {
    fn intersection(&self, other: &ValueSet) -> ValueSet {
        match (self, other) {
            (ValueSet::OneOf(a), ValueSet::OneOf(b)) => ValueSet::OneOf(a & b),
            (ValueSet::OneOf(a), ValueSet::NoneOf(b))
            | (ValueSet::NoneOf(b), ValueSet::OneOf(a)) => ValueSet::OneOf(a - b),
            (ValueSet::NoneOf(a), ValueSet::NoneOf(b)) => ValueSet::NoneOf(a | b),
        }
    }

    fn union(&self, other: &ValueSet) -> ValueSet {
        match (self, other) {
            (ValueSet::OneOf(a), ValueSet::OneOf(b)) => ValueSet::OneOf(a | b),
            (ValueSet::OneOf(a), ValueSet::NoneOf(b))
            | (ValueSet::NoneOf(b), ValueSet::OneOf(a)) => ValueSet::NoneOf(b - a),
            (ValueSet::NoneOf(a), ValueSet::NoneOf(b)) => ValueSet::NoneOf(a & b),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, ValueSet::OneOf(values) if values.is_empty())
    }
}

/// The path conditions of one block or edge.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathConditions(BTreeMap<ValueNumber, ValueSet>);

impl PathConditions {
    /// Adds that a value equals a constant (`is`), or that it does not.
    pub(crate) fn constrain(&mut self, number: ValueNumber, is: bool, value: Words) {
        let value = BTreeSet::from([value]);
        let set = if is { ValueSet::OneOf(value) } else { ValueSet::NoneOf(value) };
        let set = self.0.get(&number).map_or_else(|| set.clone(), |old| old.intersection(&set));
        self.0.insert(number, set);
    }

    /// Keeps what holds on either of two paths that join.
    pub(crate) fn merge(&mut self, other: &PathConditions) {
        self.0.retain(|number, set| {
            let Some(other) = other.0.get(number) else { return false };
            *set = set.union(other);
            !matches!(set, ValueSet::NoneOf(values) if values.is_empty())
        });
    }

    /// Whether no packet can satisfy both: some value would need two different constants.
    pub(crate) fn excludes(&self, other: &PathConditions) -> bool {
        self.0.iter().any(|(number, set)| {
            other.0.get(number).is_some_and(|other| set.intersection(other).is_empty())
        })
    }

    /// Adds that a condition is true, or that it is false.
    pub(crate) fn assume(&mut self, numbering: &ValueNumbering, cond: ValueNumber, is_true: bool) {
        let mut budget = MAX_PARTS;
        self.decompose(numbering, cond, is_true, &mut budget);
    }

    fn decompose(
        &mut self,
        numbering: &ValueNumbering,
        cond: ValueNumber,
        is_true: bool,
        budget: &mut u32,
    ) {
        if *budget == 0 {
            return self.assume_boolean(cond, is_true);
        }
        *budget -= 1;
        match numbering.condition(cond) {
            Condition::Constant => return,
            Condition::Not(of) => return self.decompose(numbering, of, !is_true, budget),
            Condition::And(a, b) if is_true => {
                self.decompose(numbering, a, true, budget);
                self.decompose(numbering, b, true, budget);
            }
            Condition::Or(a, b) if !is_true => {
                self.decompose(numbering, a, false, budget);
                self.decompose(numbering, b, false, budget);
            }
            Condition::And(a, b) | Condition::Or(a, b) => {
                let mut other = self.clone();
                self.decompose(numbering, a, is_true, budget);
                other.decompose(numbering, b, is_true, budget);
                self.merge(&other);
            }
            Condition::Bit { of, is } => self.decompose(numbering, of, is == is_true, budget),
            Condition::Equal { of, value, is } => self.constrain(of, is == is_true, value.to_vec()),
            Condition::Other => {}
        }
        self.assume_boolean(cond, is_true);
    }

    fn assume_boolean(&mut self, cond: ValueNumber, is_true: bool) {
        self.constrain(cond, true, if is_true { vec![1] } else { Vec::new() });
    }
}
