//! Solves branch conditions: it sets fields of a packet so that an expression has a desired value.
//!
//! It goes back from the expression through copies, casts, slices and sums to the fields of the
//! packet. Bits on which an earlier decision of the path depends are fixed.

use netkv_ir::{BinaryOp, Expr, Pattern, SelectCase, UnaryOp, Value, Word};

use crate::bits::BitString;
use crate::eval::{eval, load};
use crate::path_builder::{Field, Origin, PathBuilder};
use crate::value_pool::resized;

impl PathBuilder<'_> {
    pub(crate) fn eval(&self, expr: &Expr) -> Option<u64> {
        eval(self.program, &self.words, expr)
    }

    /// The origin of an expression, if it is a field of the packet plus a constant.
    fn origin(&self, expr: &Expr) -> Option<Origin> {
        match expr {
            Expr::Load(place) => self.origins.get(&place.word).copied(),
            Expr::Unary { op: UnaryOp::ZeroExtend, arg, width } if *width >= arg.width() => {
                self.origin(arg)
            }
            Expr::Binary { op: BinaryOp::Add, left, right, .. } => {
                let (of, by) = match self.origin(left) {
                    Some(of) => (of, right),
                    None => (self.origin(right)?, left),
                };
                Some(Origin { added: of.added.wrapping_add(self.eval(by)?), ..of })
            }
            Expr::Binary { op: BinaryOp::Sub, left, right, .. } => {
                let of = self.origin(left)?;
                Some(Origin { added: of.added.wrapping_sub(self.eval(right)?), ..of })
            }
            _ => None,
        }
    }

    /// Executes `to = value`, and propagates the origin of the value.
    pub(crate) fn copy(&mut self, to: Word, width: u32, value: &Expr) {
        match self.eval(value) {
            Some(found) => self.store(to, &Value::new(width, u128::from(found))),
            None => {
                if let Expr::Load(from) = value {
                    let found = load(&self.words, from.word, from.width);
                    self.store(to, &found);
                }
            }
        }
        match self.origin(value) {
            Some(origin) => drop(self.origins.insert(to, origin)),
            None => drop(self.origins.remove(&to)),
        }
    }

    /// Fixes the bits of the packet on which an expression depends.
    pub(crate) fn fix_bits(&mut self, expr: &Expr) {
        if let Expr::Slice { arg, high, low } = expr
            && let Expr::Load(place) = &**arg
            && let Some(origin) = self.origins.get(&place.word)
            && origin.added == 0
            && *high < origin.width
        {
            let first = origin.offset + (origin.width - 1 - high) as usize;
            self.fixed_bits.extend(first..=first + (high - low) as usize);
            return;
        }
        let mut found = Vec::new();
        crate::traversal::subexpressions(expr, &mut |part| {
            if let Expr::Load(place) = part {
                found.push(place.word);
            }
        });
        for word in found {
            if let Some(origin) = self.origins.get(&word) {
                self.fixed_bits.extend(origin.offset..origin.offset + origin.width as usize);
            }
        }
    }

    fn write(&mut self, offset: usize, value: &Value) -> bool {
        let mut range = offset..offset + value.width as usize;
        if range.end > self.bits.len() || range.any(|bit| self.fixed_bits.contains(&bit)) {
            return false;
        }
        self.bits.set(offset, value);
        true
    }

    /// Sets fields so that an expression has a value. Returns false if that is not possible.
    pub(crate) fn assign(&mut self, expr: &Expr, value: &Value) -> bool {
        if !self.generates {
            return false;
        }
        match expr {
            Expr::Load(place) => {
                let Some(origin) = self.origins.get(&place.word).copied() else { return false };
                let wanted = if origin.added == 0 {
                    resized(value, origin.width)
                } else {
                    let plain = value.words[0].wrapping_sub(origin.added);
                    Value::new(origin.width, u128::from(plain))
                };
                if !self.write(origin.offset, &wanted) {
                    return false;
                }
                self.store(place.word, &resized(value, place.width));
                self.update_word(origin);
                true
            }
            Expr::Slice { arg, high, .. } => {
                let Expr::Load(place) = &**arg else { return false };
                let Some(origin) = self.origins.get(&place.word).copied() else { return false };
                if origin.added != 0
                    || *high >= origin.width
                    || !self.write(origin.offset + (origin.width - 1 - high) as usize, value)
                {
                    return false;
                }
                let whole = resized(&self.bits.value(origin.offset, origin.width), place.width);
                self.store(place.word, &whole);
                self.update_word(origin);
                true
            }
            Expr::Concat(left, right) => {
                let mut bits = BitString::default();
                bits.append(value);
                let high = self.assign(left, &bits.value(0, left.width()));
                self.assign(right, &bits.value(left.width() as usize, right.width())) && high
            }
            Expr::Unary { op: UnaryOp::ZeroExtend | UnaryOp::SignExtend, arg, .. } => {
                self.assign(arg, &resized(value, arg.width()))
            }
            Expr::Binary { op, left, right, width } if *width <= 64 => {
                self.assign_operand(*op, left, right, *width, value.words[0])
            }
            _ => false,
        }
    }

    /// Sets fields of one operand so that `left op right` has a value.
    fn assign_operand(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        width: u32,
        value: u64,
    ) -> bool {
        let (a, b) = (self.eval(left), self.eval(right));
        let made = |value: u64, of: &Expr| Value::new(of.width(), u128::from(value));
        let _ = width;
        match op {
            BinaryOp::Add => {
                b.is_some_and(|b| self.assign(left, &made(value.wrapping_sub(b), left)))
                    || a.is_some_and(|a| self.assign(right, &made(value.wrapping_sub(a), right)))
            }
            BinaryOp::Sub => {
                b.is_some_and(|b| self.assign(left, &made(value.wrapping_add(b), left)))
                    || a.is_some_and(|a| self.assign(right, &made(a.wrapping_sub(value), right)))
            }
            BinaryOp::Xor => {
                b.is_some_and(|b| self.assign(left, &made(value ^ b, left)))
                    || a.is_some_and(|a| self.assign(right, &made(value ^ a, right)))
            }
            BinaryOp::And => match (a, b) {
                (Some(a), Some(b)) => {
                    self.assign(left, &made(a & !b | value & b, left))
                        || self.assign(right, &made(b & !a | value & a, right))
                }
                _ => false,
            },
            BinaryOp::Shl => {
                b.is_some_and(|b| b < 64 && self.assign(left, &made(value >> b, left)))
            }
            BinaryOp::Shr => {
                b.is_some_and(|b| b < 64 && self.assign(left, &made(value << b, left)))
            }
            _ => false,
        }
    }

    /// Updates the word of a header whose field was changed through a copy.
    fn update_word(&mut self, origin: Origin) {
        let same = |field: &&Field| field.offset == origin.offset;
        if let Some(field) = self.fields.iter().find(same).copied()
            && self.origins.get(&field.word).is_some_and(|of| of.added == 0)
        {
            let value = self.bits.value(field.offset, field.width);
            self.store(field.word, &value);
        }
    }

    /// Tries to make a condition true, or false.
    pub(crate) fn satisfy(&mut self, cond: &Expr, truth: bool) {
        if self.eval(cond) == Some(u64::from(truth)) {
            return;
        }
        match cond {
            Expr::Unary { op: UnaryOp::Not, arg, .. } if arg.width() == 1 => {
                self.satisfy(arg, !truth)
            }
            Expr::Mux { cond, then, otherwise } => {
                let through = if self.rng.chance(50) { then } else { otherwise };
                let first = std::ptr::eq(through, then);
                self.satisfy(cond, first);
                self.satisfy(through, truth);
            }
            Expr::Binary { op, left, right, .. } => self.satisfy_binary(*op, left, right, truth),
            _ => drop(self.assign(cond, &Value::new(1, u128::from(truth)))),
        }
    }

    fn satisfy_binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, truth: bool) {
        let is_logic = left.width() == 1;
        match op {
            BinaryOp::And | BinaryOp::Or if is_logic => {
                // Both operands must have the value, or one of them is sufficient.
                if truth == (op == BinaryOp::And) {
                    self.satisfy(left, truth);
                    self.satisfy(right, truth);
                } else if self.rng.chance(50) {
                    self.satisfy(left, truth);
                } else {
                    self.satisfy(right, truth);
                }
            }
            BinaryOp::Xor if is_logic => {
                if let Some(b) = self.eval(right) {
                    self.satisfy(left, truth != (b == 1));
                }
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let equal = truth == (op == BinaryOp::Eq);
                let add = u64::from(!equal);
                self.satisfy_comparison(left, right, add, add);
            }
            BinaryOp::LtUnsigned | BinaryOp::LtSigned if truth => {
                self.satisfy_comparison(left, right, u64::MAX, 1);
            }
            BinaryOp::LtUnsigned | BinaryOp::LtSigned => self.satisfy_comparison(left, right, 0, 0),
            BinaryOp::LeUnsigned | BinaryOp::LeSigned if truth => {
                self.satisfy_comparison(left, right, 0, 0)
            }
            BinaryOp::LeUnsigned | BinaryOp::LeSigned => {
                self.satisfy_comparison(left, right, 1, u64::MAX)
            }
            _ => {}
        }
    }

    /// Sets `left` to `right + left_add`, or else `right` to `left + right_add`.
    fn satisfy_comparison(&mut self, left: &Expr, right: &Expr, left_add: u64, right_add: u64) {
        if let Expr::Const(value) = right
            && left_add == 0
        {
            self.assign(left, value);
            return;
        }
        let made = |value: u64, of: &Expr| Value::new(of.width(), u128::from(value));
        let by_left = |builder: &mut Self| {
            let Some(b) = builder.eval(right) else { return false };
            builder.assign(left, &made(b.wrapping_add(left_add), left))
        };
        if !by_left(self)
            && let Some(a) = self.eval(left)
        {
            self.assign(right, &made(a.wrapping_add(right_add), right));
        }
    }

    /// Sets the keys of a select to values that match a case.
    pub(crate) fn satisfy_case(&mut self, keys: &[Expr], case: &SelectCase) {
        if let [Pattern::ValueSet(set)] = case.patterns.as_slice() {
            let members = self.pool.value_sets.get(set).cloned().unwrap_or_default();
            if let Some(member) = self.rng.pick_any(&members) {
                for (key, value) in keys.iter().zip(member) {
                    self.assign(key, value);
                }
            }
            return;
        }
        for (key, pattern) in keys.iter().zip(&case.patterns) {
            let value = match pattern {
                Pattern::Value(value) => value.clone(),
                Pattern::Mask(value, mask) => {
                    let mut made = self.rng.value(value.width);
                    for ((made, value), mask) in
                        made.words.iter_mut().zip(&value.words).zip(&mask.words)
                    {
                        *made = *made & !mask | value & mask;
                    }
                    made
                }
                Pattern::Range(low, high) => match self.rng.below(3) {
                    0 => low.clone(),
                    2 if low.width <= 64 => {
                        let between = self.rng.between(low.words[0], high.words[0]);
                        Value::new(low.width, u128::from(between))
                    }
                    _ => high.clone(),
                },
                Pattern::Any | Pattern::ValueSet(_) => continue,
            };
            self.assign(key, &value);
        }
    }

    /// Whether the keys match a case.
    pub(crate) fn matches(&self, keys: &[Expr], case: &SelectCase) -> bool {
        keys.iter().zip(&case.patterns).all(|(key, pattern)| {
            let value = match (self.eval(key), key) {
                (Some(value), _) => Value::new(key.width(), u128::from(value)),
                (None, Expr::Load(place)) => load(&self.words, place.word, place.width),
                _ => return false,
            };
            let order = |a: &Value, b: &Value| a.words.iter().rev().cmp(b.words.iter().rev());
            match pattern {
                Pattern::Any => true,
                Pattern::Value(wanted) => value == *wanted,
                Pattern::Mask(wanted, mask) => value
                    .words
                    .iter()
                    .zip(&wanted.words)
                    .zip(&mask.words)
                    .all(|((value, wanted), mask)| value & mask == wanted & mask),
                Pattern::Range(low, high) => {
                    order(&value, low).is_ge() && order(&value, high).is_le()
                }
                // `satisfy_case` has set the keys to a member of the value set.
                Pattern::ValueSet(set) => {
                    self.pool.value_sets.get(set).is_some_and(|members| !members.is_empty())
                }
            }
        })
    }
}
