//! What is known where a packet has come to: which values its conditions have had.

use std::collections::BTreeSet;

use netkv_ir::{BinaryOp, Expr, UnaryOp};

use crate::numbers::{Number, plain};

/// A value is this constant, or is not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    number: Number,
    is: bool,
    value: Vec<u64>,
}

/// All that is known at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts(BTreeSet<Fact>);

impl Facts {
    /// A value is this constant (or is not).
    pub(crate) fn add(&mut self, number: Number, is: bool, value: Vec<u64>) {
        self.0.insert(Fact { number, is, value });
    }

    /// What is known where both may come from.
    pub(crate) fn meet(&mut self, other: &Facts) {
        self.0.retain(|fact| other.0.contains(fact));
    }

    /// No packet can be at both places: a value would have to differ from itself.
    pub(crate) fn exclude(&self, other: &Facts) -> bool {
        self.0.iter().any(|mine| {
            let from = Fact { number: mine.number, is: false, value: Vec::new() };
            other.0.range(from..).take_while(|theirs| theirs.number == mine.number).any(|theirs| {
                match (mine.is, theirs.is) {
                    (true, true) => mine.value != theirs.value,
                    (false, false) => false,
                    _ => mine.value == theirs.value,
                }
            })
        })
    }

    /// A condition is true, or false.
    pub(crate) fn assume(
        &mut self,
        cond: &Expr,
        truth: bool,
        number: &mut dyn FnMut(&Expr) -> Number,
    ) {
        match cond {
            Expr::Const(_) => {}
            Expr::Unary { op: UnaryOp::Not, arg, width: 1 } => self.assume(arg, !truth, number),
            Expr::Binary { op: BinaryOp::And, left, right, width: 1 } if truth => {
                self.assume(left, true, number);
                self.assume(right, true, number);
            }
            Expr::Binary { op: BinaryOp::Or, left, right, width: 1 } if !truth => {
                self.assume(left, false, number);
                self.assume(right, false, number);
            }
            Expr::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } => {
                let equal = truth == (*op == BinaryOp::Eq);
                match (&**left, &**right) {
                    (of, Expr::Const(value)) | (Expr::Const(value), of) if of.width() == 1 => {
                        self.assume(of, equal == (value.words.first() == Some(&1)), number);
                    }
                    (of, Expr::Const(value)) | (Expr::Const(value), of) => {
                        self.add(number(of), equal, plain(value));
                    }
                    _ => {}
                }
                self.truth(cond, truth, number);
            }
            _ => self.truth(cond, truth, number),
        }
    }

    fn truth(&mut self, cond: &Expr, truth: bool, number: &mut dyn FnMut(&Expr) -> Number) {
        self.add(number(cond), true, if truth { vec![1] } else { Vec::new() });
    }
}
