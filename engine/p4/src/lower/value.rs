//! Expressions: places, values, and what has to happen before them.

use netkv_ir::{Expr, Op, Place, StackId, Terminator, UnaryOp, Value};
use num_bigint::BigInt;

use super::Lowerer;
use super::layout::Store;
use super::ops;
use crate::effects::has_effects;
use crate::fold;
use crate::hir::{BinOp, Callee, HExpr, HKind, UnOp};
use crate::types::Ty;

/// A place that can be read and written.
#[derive(Debug, Clone)]
pub(super) enum LVal {
    Store(Store),
    /// A header in a stack, by an index that is not known now.
    Element(StackId, Expr),
    /// A scalar in such a header; its place in element 0.
    ElementField(StackId, Expr, Place),
    Slice(Box<LVal>, u32, u32),
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val {
    Scalar(Expr),
    /// What is in a place now.
    At(LVal),
    /// Members of a struct or of a valid header.
    List(Vec<Val>),
    InvalidHeader,
    Void,
}

pub(super) fn constant(width: u32, value: u128) -> Expr {
    Expr::Const(Value::new(width, value))
}

impl Lowerer<'_> {
    /// The value of an expression; a place is not read yet.
    pub(super) fn value(&mut self, expr: &HExpr) -> Val {
        let hir = self.hir;
        let width = hir.types.width(&expr.ty).unwrap_or(1);
        match &expr.kind {
            HKind::Const(value) => {
                let width = match hir.types.width(&expr.ty) {
                    Some(width) => width,
                    // A number without width: only as an index or shift amount.
                    None => (value.bits() as u32).max(1),
                };
                Val::Scalar(Expr::Const(fold::to_value(value, width)))
            }
            HKind::Str(_) | HKind::Wrong => Val::Scalar(constant(1, 0)),
            HKind::Var(id) => self.env.get(id).cloned().unwrap_or(Val::Scalar(constant(width, 0))),
            HKind::Field(base, index) => {
                let base = self.value(base);
                self.member(base, *index, width)
            }
            HKind::Element(base, index) => self.element(base, index),
            HKind::Next(base) => self.relative(base, false),
            HKind::Last(base) => self.relative(base, true),
            HKind::LastIndex(base) => match self.value(base) {
                Val::At(LVal::Store(Store::Stack(stack))) => {
                    self.check_last(stack);
                    let next = self.next_index(stack);
                    let one = constant(32, 1);
                    Val::Scalar(ops::binary(BinOp::Sub, false, next, one))
                }
                _ => Val::Scalar(constant(32, 0)),
            },
            HKind::Slice(base, high, low) => match self.value(base) {
                Val::At(place) => Val::At(LVal::Slice(Box::new(place), *high, *low)),
                Val::Scalar(arg) => Val::Scalar(ops::slice(arg, *high, *low)),
                other => other,
            },
            HKind::Unary(op, arg) => {
                let signed = hir.types.is_signed(&arg.ty);
                let arg = self.scalar(arg);
                Val::Scalar(unary(*op, arg, signed))
            }
            HKind::Binary(op, left, right) => Val::Scalar(self.binary(*op, left, right)),
            HKind::Mux(cond, then, otherwise) => self.mux(cond, then, otherwise, &expr.ty),
            HKind::Cast(arg) => {
                let signed = hir.types.is_signed(&arg.ty);
                let arg = self.scalar(arg);
                Val::Scalar(ops::extend(arg, signed, width))
            }
            HKind::Aggregate(parts) => {
                let mut values = Vec::new();
                for (i, part) in parts.iter().enumerate() {
                    let mut value = self.value(part);
                    let later = parts[i + 1..].iter().any(|p| has_effects(hir, p));
                    if later {
                        value = self.freeze(value, &part.ty);
                    }
                    values.push(value);
                }
                Val::List(values)
            }
            HKind::Invalid => Val::InvalidHeader,
            HKind::IsValid(base) => {
                let base = self.value(base);
                Val::Scalar(self.validity(&base))
            }
            HKind::Call(call) => self.call(call, &expr.ty),
            HKind::Hit(call, hit) => {
                if let Callee::Table(table) = call.callee {
                    self.apply_table(table, None);
                }
                let word = Expr::Load(Place { word: self.hit_word(), width: 1 });
                Val::Scalar(if *hit { word } else { unary(UnOp::Not, word, false) })
            }
        }
    }

    /// The value of a scalar expression.
    pub(super) fn scalar(&mut self, expr: &HExpr) -> Expr {
        let value = self.value(expr);
        self.load(&value)
    }

    /// Reads a scalar value.
    pub(super) fn load(&mut self, value: &Val) -> Expr {
        match value {
            Val::Scalar(expr) => expr.clone(),
            Val::At(place) => self.load_place(place),
            _ => constant(1, 0),
        }
    }

    pub(super) fn load_place(&mut self, place: &LVal) -> Expr {
        match place {
            LVal::Store(Store::Scalar(place) | Store::Varbit(place, _)) => Expr::Load(*place),
            LVal::ElementField(stack, index, place) => {
                Expr::LoadElement { stack: *stack, index: Box::new(index.clone()), place: *place }
            }
            LVal::Slice(of, high, low) => ops::slice(self.load_place(of), *high, *low),
            LVal::Store(_) | LVal::Element(..) => constant(1, 0),
        }
    }

    /// Member of a struct, header or list.
    pub(super) fn member(&mut self, base: Val, index: usize, width: u32) -> Val {
        match base {
            Val::At(LVal::Store(store)) => match self.field(&store, index) {
                Some(field) => Val::At(LVal::Store(field)),
                None => Val::Scalar(constant(width, 0)),
            },
            Val::At(LVal::Element(stack, at)) => {
                let first = self.program.stacks[stack as usize].first;
                match self.program.headers[first as usize].fields.get(index) {
                    Some(field) => Val::At(LVal::ElementField(stack, at, field.place)),
                    None => Val::Scalar(constant(width, 0)),
                }
            }
            Val::List(mut parts) if index < parts.len() => parts.swap_remove(index),
            _ => Val::Scalar(constant(width, 0)),
        }
    }

    fn element(&mut self, base: &HExpr, index: &HExpr) -> Val {
        let base = self.value(base);
        let Val::At(LVal::Store(Store::Stack(stack))) = base else { return Val::InvalidHeader };
        let (first, size) = {
            let stack = &self.program.stacks[stack as usize];
            (stack.first, stack.size)
        };
        match self.scalar(index) {
            Expr::Const(value) => {
                let at = fold::from_value(&value, false);
                match u32::try_from(&at) {
                    Ok(at) if at < size => Val::At(LVal::Store(Store::Header(first + at))),
                    _ => {
                        let message =
                            format!("Index {at} is out of range: the stack has {size} elements.");
                        self.reporter.error(index.span, message);
                        Val::InvalidHeader
                    }
                }
            }
            at => Val::At(LVal::Element(stack, at)),
        }
    }

    pub(super) fn next_index(&self, stack: StackId) -> Expr {
        let word = self.program.stacks[stack as usize].next_index;
        Expr::Load(Place { word, width: 32 })
    }

    fn check_last(&mut self, stack: StackId) {
        self.op(Op::CheckStackLast(stack));
    }

    /// `stack.next` or `stack.last`.
    fn relative(&mut self, base: &HExpr, last: bool) -> Val {
        let Val::At(LVal::Store(Store::Stack(stack))) = self.value(base) else {
            return Val::InvalidHeader;
        };
        let mut index = self.next_index(stack);
        if last {
            self.check_last(stack);
            index = ops::binary(BinOp::Sub, false, index, constant(32, 1));
        }
        Val::At(LVal::Element(stack, index))
    }

    /// Width-1 validity of a header.
    pub(super) fn validity(&mut self, header: &Val) -> Expr {
        match header {
            Val::At(LVal::Store(Store::Header(id))) => {
                let word = self.program.headers[*id as usize].valid;
                Expr::Load(Place { word, width: 1 })
            }
            Val::At(LVal::Element(stack, index)) => {
                let first = self.program.stacks[*stack as usize].first;
                let word = self.program.headers[first as usize].valid;
                let place = Place { word, width: 1 };
                Expr::LoadElement { stack: *stack, index: Box::new(index.clone()), place }
            }
            Val::List(_) => constant(1, 1),
            _ => constant(1, 0),
        }
    }

    /// A scalar that later operations cannot change.
    pub(super) fn stable(&mut self, expr: Expr) -> Expr {
        match &expr {
            Expr::Const(_) => expr,
            Expr::Load(place) if self.temps.contains(&place.word) => expr,
            _ => {
                let to = self.temp(expr.width());
                self.op(Op::Assign { to, value: expr });
                Expr::Load(to)
            }
        }
    }

    /// A value that later operations cannot change.
    pub(super) fn freeze(&mut self, value: Val, ty: &Ty) -> Val {
        match value {
            Val::Scalar(expr) => Val::Scalar(self.stable(expr)),
            Val::At(place) if self.hir.types.width(ty).is_some() => {
                let expr = self.load_place(&place);
                Val::Scalar(self.stable(expr))
            }
            Val::At(_) | Val::List(_) => {
                let store = self.allocate(ty, &super::layout::join(&self.path.clone(), "tmp"));
                self.assign(&LVal::Store(store.clone()), &value, ty);
                Val::At(LVal::Store(store))
            }
            other => other,
        }
    }

    fn binary(&mut self, op: BinOp, left: &HExpr, right: &HExpr) -> Expr {
        let hir = self.hir;
        let right_acts = has_effects(hir, right);
        if matches!(op, BinOp::Both | BinOp::Either) && right_acts {
            return self.short_circuit(op, left, right);
        }
        if hir.types.width(&left.ty).is_none() && matches!(op, BinOp::Eq | BinOp::Ne) {
            let mut a = self.value(left);
            if right_acts {
                a = self.freeze(a, &left.ty);
            }
            let b = self.value(right);
            let equal = self.equal(&a, &b, &left.ty);
            return if op == BinOp::Eq { equal } else { unary(UnOp::Not, equal, false) };
        }
        let mut a = self.scalar(left);
        if right_acts {
            a = self.stable(a);
        }
        let b = self.scalar(right);
        ops::binary(op, hir.types.is_signed(&left.ty), a, b)
    }

    /// `&&` and `||` whose right side acts: it is reached only when it counts.
    fn short_circuit(&mut self, op: BinOp, left: &HExpr, right: &HExpr) -> Expr {
        let to = self.scalar_place(1);
        let value = self.scalar(left);
        self.op(Op::Assign { to, value });
        let (more, done) = (self.graph.block(""), self.graph.block(""));
        let (then, otherwise) = if op == BinOp::Both { (more, done) } else { (done, more) };
        self.end(Terminator::Branch { cond: Expr::Load(to), then, otherwise });
        self.graph.enter(more);
        let value = self.scalar(right);
        self.op(Op::Assign { to, value });
        self.jump(done);
        self.graph.enter(done);
        self.temps.insert(to.word);
        Expr::Load(to)
    }

    fn mux(&mut self, cond: &HExpr, then: &HExpr, otherwise: &HExpr, ty: &Ty) -> Val {
        let hir = self.hir;
        let acts = has_effects(hir, then) || has_effects(hir, otherwise);
        let cond = self.scalar(cond);
        if hir.types.width(ty).is_some() && !acts {
            let (a, b) = (self.scalar(then), self.scalar(otherwise));
            return Val::Scalar(match &cond {
                Expr::Const(value) => {
                    if value.words[0] == 1 {
                        a
                    } else {
                        b
                    }
                }
                _ => Expr::Mux { cond: Box::new(cond), then: Box::new(a), otherwise: Box::new(b) },
            });
        }
        let store = self.allocate(ty, &super::layout::join(&self.path.clone(), "tmp"));
        let to = LVal::Store(store);
        let (yes, no, done) = (self.graph.block(""), self.graph.block(""), self.graph.block(""));
        self.end(Terminator::Branch { cond, then: yes, otherwise: no });
        for (block, value) in [(yes, then), (no, otherwise)] {
            self.graph.enter(block);
            let value = self.value(value);
            self.assign(&to, &value, ty);
            self.jump(done);
        }
        self.graph.enter(done);
        Val::At(to)
    }

    /// A number that must be known when the program is compiled.
    pub(super) fn known(&mut self, expr: &HExpr) -> Option<BigInt> {
        match self.scalar(expr) {
            Expr::Const(value) => {
                Some(fold::from_value(&value, self.hir.types.is_signed(&expr.ty)))
            }
            _ => {
                self.reporter.error(expr.span, "This must be a constant.");
                None
            }
        }
    }

    pub(super) fn known_u32(&mut self, expr: &HExpr) -> u32 {
        let Some(value) = self.known(expr) else { return 0 };
        u32::try_from(&value).unwrap_or_else(|_| {
            self.reporter.error(expr.span, "This must be a number from 0 to 4294967295.");
            0
        })
    }
}

pub(super) fn unary(op: UnOp, arg: Expr, signed: bool) -> Expr {
    let width = arg.width();
    if let Expr::Const(value) = &arg {
        let number = fold::from_value(value, signed);
        return Expr::Const(fold::to_value(
            &fold::unary(op, &number, Some((width, signed))),
            width,
        ));
    }
    let op = match op {
        UnOp::Not | UnOp::Complement => UnaryOp::Not,
        UnOp::Negate => UnaryOp::Neg,
    };
    Expr::Unary { op, arg: Box::new(arg), width }
}
