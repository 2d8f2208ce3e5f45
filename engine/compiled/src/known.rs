//! Values of words of the state area that are known before a packet arrives.

use netkv_dataplane::{DROP_PORT, instance, mask};
use netkv_ir::{Apply, BinaryOp, Expr, Op, Pattern, Program, UnaryOp, Value, Word};

use crate::decided::Decided;
use crate::words::{Words, written_by};

/// What is known of each word of the state area, and of expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    values: Vec<Option<u64>>,
    decided: Decided,
}

impl Known {
    /// All words have this value, or are unknown.
    pub(crate) fn all(program: &Program, value: Option<u64>) -> Self {
        let values = vec![value; program.state_words as usize];
        Self { values, decided: Decided::default() }
    }

    /// Of a received packet.
    pub(crate) fn of_packet(program: &Program) -> Self {
        let mut known = Self::all(program, Some(0));
        let standard = &program.standard_metadata;
        for place in
            [standard.ingress_port, standard.packet_length, standard.ingress_global_timestamp]
        {
            known.set(place.word, None);
        }
        known
    }

    /// Of a recirculated packet, which keeps metadata in some words.
    pub(crate) fn of_recirculated(program: &Program, kept: &Words) -> Self {
        let mut known = Self::all(program, Some(0));
        kept.iter().for_each(|word| known.set(word, None));
        let standard = &program.standard_metadata;
        known.set(standard.packet_length.word, None);
        known.set(standard.instance_type.word, Some(instance::RECIRCULATED));
        known
    }

    /// Of a recirculated packet with these fields of headers, which are not extracted yet.
    pub(crate) fn of_recirculated_fields(
        &self,
        program: &Program,
        kept: &Words,
        fields: &Words,
    ) -> Self {
        let mut known = Self::of_recirculated(program, kept);
        fields.iter().for_each(|word| known.set(word, self.get(word)));
        known.decided = self.decided.only(fields);
        known
    }

    /// At the start of egress, of a packet with these facts at the end of ingress.
    pub(crate) fn of_egress(mut self, program: &Program) -> Self {
        let standard = &program.standard_metadata;
        for place in standard.places() {
            self.forget(place.word, place.words());
        }
        self.set(standard.instance_type.word, Some(instance::NORMAL));
        self
    }

    /// At the start of egress, of a copy of a multicast packet with these facts at the end of
    /// ingress.
    pub(crate) fn of_copy(self, program: &Program) -> Self {
        let mut known = self.of_egress(program);
        known.set(program.standard_metadata.instance_type.word, Some(instance::REPLICATED));
        known
    }

    /// Of the egress clone without a field list of a packet with these facts: its metadata is 0.
    pub(crate) fn of_clone(&self, program: &Program) -> Self {
        let mut known = Self::all(program, Some(0));
        for (word, words) in program.header_words() {
            let range = word as usize..(word + words) as usize;
            known.values[range.clone()].copy_from_slice(&self.values[range]);
        }
        known = known.of_egress(program);
        known.set(program.standard_metadata.instance_type.word, Some(instance::EGRESS_CLONE));
        known
    }

    pub(crate) fn get(&self, word: Word) -> Option<u64> {
        self.values[word as usize]
    }

    pub(crate) fn set(&mut self, word: Word, value: Option<u64>) {
        self.values[word as usize] = value;
    }

    pub(crate) fn forget(&mut self, word: Word, words: u32) {
        self.values[word as usize..(word + words) as usize].fill(None);
        self.decided.forget(|written| (word..word + words).contains(&written));
    }

    /// Keeps what is also known on another path.
    pub(crate) fn join(&mut self, other: &Known) {
        for (mine, other) in self.values.iter_mut().zip(&other.values) {
            *mine = mine.filter(|value| *other == Some(*value));
        }
        self.decided.join(&other.decided);
    }

    /// Whether an operation is known to have no effect.
    pub(crate) fn is_void(&self, op: &Op) -> bool {
        let Op::Verify { cond, .. } = op else { return false };
        self.value(cond) == Some(1)
            || self.decided.is_match(cond, &Pattern::Value(Value::new(1, 1)))
    }

    /// Whether an operation is known to end the parser.
    pub(crate) fn ends_parser(&self, op: &Op) -> bool {
        match op {
            Op::Reject => true,
            Op::Verify { cond, .. } => self.value(cond) == Some(0),
            _ => false,
        }
    }

    /// After an operation that did not end the graph.
    pub(crate) fn run(&mut self, program: &Program, op: &Op) {
        let assigned = match op {
            Op::Assign { to, value } if to.width <= 64 => Some((to.word, self.value(value))),
            Op::Extract(header) | Op::ExtractVarbit { header, .. } | Op::SetValid(header) => {
                Some((program.headers[*header as usize].valid, Some(1)))
            }
            Op::SetInvalid(header) => Some((program.headers[*header as usize].valid, Some(0))),
            Op::MarkToDrop => Some((program.standard_metadata.egress_spec.word, Some(DROP_PORT))),
            _ => None,
        };
        let written = written_by(program, op);
        written.iter().for_each(|word| self.set(word, None));
        self.decided.forget(|word| written.contains(word));
        match op {
            Op::Assign { to, value: Expr::Load(from) }
                if to.width == from.width && to.width <= 64 =>
            {
                self.decided.copied(from.word, to.word);
            }
            Op::ZeroWords { to, words } => {
                self.values[*to as usize..(*to + *words) as usize].fill(Some(0));
            }
            Op::MarkToDrop => self.set(program.standard_metadata.mcast_grp.word, Some(0)),
            Op::Verify { cond, .. } => {
                self.assume(cond, true);
                self.decided.matches(cond, &Pattern::Value(Value::new(1, 1)));
            }
            _ => {}
        }
        if let Some((word, value)) = assigned {
            self.set(word, value);
        }
    }

    /// After a table whose action is the `index`-th of its list.
    pub(crate) fn run_action(&mut self, apply: &Apply, index: usize) {
        self.forget(apply.hit, 1);
        for place in apply.targets.iter().flat_map(|target| &target.params) {
            self.forget(place.word, place.words());
        }
        self.set(apply.action_run, Some(index as u64));
    }

    /// After a branch whose condition holds, or does not.
    pub(crate) fn assume(&mut self, cond: &Expr, holds: bool) {
        match cond {
            Expr::Load(place) if place.width == 1 => {
                self.set(place.word, Some(u64::from(holds)));
            }
            Expr::Unary { op: UnaryOp::Not, arg, width: 1 } => self.assume(arg, !holds),
            Expr::Binary { op: BinaryOp::And, left, right, .. } if holds && cond.width() == 1 => {
                self.assume(left, true);
                self.assume(right, true);
            }
            Expr::Binary { op: BinaryOp::Or, left, right, .. } if !holds && cond.width() == 1 => {
                self.assume(left, false);
                self.assume(right, false);
            }
            Expr::Binary { op: BinaryOp::Eq, left, right, .. } if holds => {
                self.equate(left, right);
                self.equate(right, left);
            }
            Expr::Binary { op: BinaryOp::Ne, left, right, .. } if !holds => {
                self.equate(left, right);
                self.equate(right, left);
            }
            _ => {}
        }
    }

    /// After a decision has shown the value of a word.
    fn learn(&mut self, word: Word, value: u64) {
        self.set(word, Some(value));
        self.decided.equal_to(word).into_iter().for_each(|equal| self.set(equal, Some(value)));
    }

    fn equate(&mut self, expr: &Expr, other: &Expr) {
        if let Expr::Load(place) = expr
            && place.width <= 64
            && let Some(value) = self.value(other)
        {
            self.learn(place.word, value);
        }
    }

    /// Whether the keys of a select match the patterns of a case, if that is known.
    pub(crate) fn matches(&self, keys: &[Expr], patterns: &[Pattern]) -> Option<bool> {
        let mut all = Some(true);
        for (key, pattern) in keys.iter().zip(patterns) {
            let matches = match pattern {
                Pattern::Any => Some(true),
                _ => match self.value(key) {
                    Some(value) => matches(value, pattern),
                    None => self.decided.is_match(key, pattern).then_some(true),
                },
            };
            all = match (all, matches) {
                (Some(false), _) | (_, Some(false)) => return Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        all
    }

    /// After a case of a select that matched.
    pub(crate) fn assume_case(&mut self, keys: &[Expr], patterns: &[Pattern]) {
        for (key, pattern) in keys.iter().zip(patterns) {
            match (key, pattern) {
                (_, Pattern::Any | Pattern::ValueSet(_)) => {}
                (Expr::Load(place), Pattern::Value(value)) if place.width <= 64 => {
                    self.learn(place.word, low(value));
                }
                _ => self.decided.matches(key, pattern),
            }
        }
    }

    /// The value of an expression of at most 64 bits, if it is known.
    pub(crate) fn value(&self, expr: &Expr) -> Option<u64> {
        let width = expr.width();
        if width > 64 {
            return None;
        }
        match expr {
            Expr::Const(value) => Some(value.words[0]),
            Expr::Load(place) => self.get(place.word),
            Expr::Unary { op, arg, .. } => unary(*op, self.value(arg)?, mask(width)),
            Expr::Binary { op, left, right, .. } => {
                if left.width() > 64 || right.width() > 64 {
                    return None;
                }
                binary(*op, self.value(left), self.value(right), mask(left.width()))
            }
            Expr::Mux { cond, then, otherwise } => {
                self.value(if self.value(cond)? != 0 { then } else { otherwise })
            }
            Expr::Slice { arg, low, .. } => Some((self.value(arg)? >> low) & mask(width)),
            Expr::Concat(left, right) => {
                let shift = right.width();
                let (left, right) = (self.value(left)?, self.value(right)?);
                Some(left.checked_shl(shift).unwrap_or(0) | right)
            }
            Expr::LoadElement { .. } | Expr::PacketLength => None,
        }
    }
}

/// Whether a value of at most 64 bits matches a pattern, if that is known.
pub(crate) fn matches(value: u64, pattern: &Pattern) -> Option<bool> {
    match pattern {
        Pattern::Any => Some(true),
        Pattern::ValueSet(_) => None,
        Pattern::Value(wanted) => Some(value == low(wanted)),
        Pattern::Mask(wanted, mask) => Some(value & low(mask) == low(wanted) & low(mask)),
        Pattern::Range(from, to) => Some((low(from)..=low(to)).contains(&value)),
    }
}

/// The value of a number of at most 64 bits.
fn low(value: &Value) -> u64 {
    value.words.first().copied().unwrap_or(0)
}

/// An operation with a result of the bits of `all`.
pub(crate) fn unary(op: UnaryOp, value: u64, all: u64) -> Option<u64> {
    match op {
        UnaryOp::Not => Some(!value & all),
        UnaryOp::Neg => Some(value.wrapping_neg() & all),
        UnaryOp::ZeroExtend => Some(value & all),
        UnaryOp::SignExtend => None,
    }
}

/// An operation on operands with the bits of `all`. One operand may decide it.
pub(crate) fn binary(op: BinaryOp, left: Option<u64>, right: Option<u64>, all: u64) -> Option<u64> {
    match (op, left, right) {
        (BinaryOp::And, Some(0), _) | (BinaryOp::And, _, Some(0)) => return Some(0),
        (BinaryOp::Or, Some(ones), _) | (BinaryOp::Or, _, Some(ones)) if ones == all => {
            return Some(all);
        }
        (BinaryOp::LtUnsigned, _, Some(0)) => return Some(0),
        _ => {}
    }
    let (left, right) = (left?, right?);
    match op {
        BinaryOp::Add => Some(left.wrapping_add(right) & all),
        BinaryOp::Sub => Some(left.wrapping_sub(right) & all),
        BinaryOp::And => Some(left & right),
        BinaryOp::Or => Some(left | right),
        BinaryOp::Xor => Some(left ^ right),
        BinaryOp::Eq => Some(u64::from(left == right)),
        BinaryOp::Ne => Some(u64::from(left != right)),
        BinaryOp::LtUnsigned => Some(u64::from(left < right)),
        BinaryOp::LeUnsigned => Some(u64::from(left <= right)),
        _ => None,
    }
}
