//! Lowers expressions to l-values and r-values, and emits the operations that they depend on.

use std::rc::Rc;

use netkv_ir::{Expr, Op, Place, Span, StackId, Terminator, UnaryOp, Value};
use num_bigint::BigInt;

use super::lowerer::Lowerer;
use super::operators;
use super::storage::{Storage, join};
use super::values::{LValue, RValue};
use crate::constant_folding;
use crate::hir::{BinOp, Callee, HExpr, HExprKind, UnOp};
use crate::side_effects::has_side_effects;
use crate::types::{INT_WIDTH, Ty};

/// The stack that a value is; of a stack of header unions, the first of its stacks.
pub(super) fn stack_of(value: &RValue) -> Option<StackId> {
    match value {
        RValue::Stored(LValue::Storage(Storage::Stack(stack))) => Some(*stack),
        RValue::Stored(LValue::Storage(Storage::UnionStack(stack))) => {
            stack.stacks.first().copied()
        }
        _ => None,
    }
}

/// Element of a stack, with an index known at run time only.
fn element(base: RValue, stack: StackId, index: Expr) -> LValue {
    match base {
        RValue::Stored(LValue::Storage(Storage::UnionStack(union))) => {
            LValue::UnionElement(union, index)
        }
        _ => LValue::Element(stack, index),
    }
}

pub(super) fn constant(width: u32, value: u128) -> Expr {
    Expr::Const(Value::new(width, value))
}

impl Lowerer<'_> {
    /// Lowers an expression. An l-value is not read yet.
    pub(super) fn lower_expr(&mut self, expr: &HExpr) -> RValue {
        let hir = self.hir;
        let width = hir.types.width(&expr.ty).unwrap_or(1);
        match &expr.kind {
            HExprKind::Const(value) => {
                let width = hir.types.width(&expr.ty).unwrap_or(INT_WIDTH);
                RValue::Scalar(Expr::Const(constant_folding::to_value(value, width)))
            }
            HExprKind::Str(_) | HExprKind::Instance(_) | HExprKind::Error => {
                RValue::Scalar(constant(1, 0))
            }
            HExprKind::Var(id) => {
                self.env.get(id).cloned().unwrap_or(RValue::Scalar(constant(width, 0)))
            }
            HExprKind::Field(base, index) => {
                let base = self.lower_expr(base);
                self.member(base, *index, width)
            }
            HExprKind::Element(base, index) => self.lower_element(base, index),
            HExprKind::Next(base) => self.lower_next_or_last(base, false),
            HExprKind::Last(base) => self.lower_next_or_last(base, true),
            HExprKind::LastIndex(base) => {
                let base = self.lower_expr(base);
                let Some(stack) = stack_of(&base) else {
                    return RValue::Scalar(constant(32, 0));
                };
                self.check_stack_not_empty(stack);
                let next = self.next_index(stack);
                RValue::Scalar(operators::binary(BinOp::Sub, false, next, constant(32, 1)))
            }
            HExprKind::Slice(base, high, low) => match self.lower_expr(base) {
                RValue::Stored(place) => {
                    RValue::Stored(LValue::Slice(Box::new(place), *high, *low))
                }
                RValue::Scalar(arg) => RValue::Scalar(operators::slice(arg, *high, *low)),
                other => other,
            },
            HExprKind::Unary(op, arg) => {
                let signed = hir.types.is_signed(&arg.ty);
                let arg = self.lower_scalar(arg);
                RValue::Scalar(unary(*op, arg, signed))
            }
            HExprKind::Binary(op, left, right) => {
                RValue::Scalar(self.lower_binary(*op, left, right))
            }
            HExprKind::Mux(cond, then, otherwise) => {
                self.lower_mux(cond, then, otherwise, &expr.ty)
            }
            HExprKind::Cast(arg) => {
                let signed = hir.types.is_signed(&arg.ty);
                let arg = self.lower_scalar(arg);
                RValue::Scalar(operators::extend(arg, signed, width))
            }
            HExprKind::Aggregate(parts) => {
                let mut values = Vec::new();
                for (i, part) in parts.iter().enumerate() {
                    let mut value = self.lower_expr(part);
                    let later = parts[i + 1..].iter().any(|p| has_side_effects(hir, p));
                    if later {
                        value = self.snapshot(value, &part.ty);
                    }
                    values.push(value);
                }
                RValue::List(values)
            }
            HExprKind::InvalidHeader => RValue::InvalidHeader,
            HExprKind::IsValid(base) => {
                let base = self.lower_expr(base);
                RValue::Scalar(self.validity(&base))
            }
            HExprKind::Call(call) => self.lower_call(call, &expr.ty),
            HExprKind::Hit(call, hit) => {
                if let Callee::Table(table) = call.callee {
                    self.lower_table_apply(table, None);
                }
                let word = Expr::Load(Place { word: self.hit_word(), width: 1 });
                RValue::Scalar(if *hit { word } else { unary(UnOp::Not, word, false) })
            }
        }
    }

    /// Lowers a scalar expression, and reads it.
    pub(super) fn lower_scalar(&mut self, expr: &HExpr) -> Expr {
        let value = self.lower_expr(expr);
        self.load(&value)
    }

    /// Reads a scalar.
    pub(super) fn load(&mut self, value: &RValue) -> Expr {
        match value {
            RValue::Scalar(expr) => expr.clone(),
            RValue::Stored(place) => self.load_lvalue(place),
            _ => constant(1, 0),
        }
    }

    pub(super) fn load_lvalue(&mut self, place: &LValue) -> Expr {
        match place {
            LValue::Storage(Storage::Scalar(place) | Storage::Varbit(place, _)) => {
                Expr::Load(*place)
            }
            LValue::ElementField(stack, index, place) => {
                Expr::LoadElement { stack: *stack, index: Box::new(index.clone()), place: *place }
            }
            LValue::Slice(of, high, low) => operators::slice(self.load_lvalue(of), *high, *low),
            LValue::ElementPart(stack, index, Storage::Varbit(place, _)) => {
                Expr::LoadElement { stack: *stack, index: Box::new(index.clone()), place: *place }
            }
            LValue::Storage(_)
            | LValue::Element(..)
            | LValue::ElementPart(..)
            | LValue::UnionElement(..) => constant(1, 0),
        }
    }

    /// Member of a struct, header or list.
    pub(super) fn member(&mut self, base: RValue, index: usize, width: u32) -> RValue {
        match base {
            RValue::Stored(LValue::Storage(storage)) => match self.field(&storage, index) {
                Some(field) => RValue::Stored(LValue::Storage(field)),
                None => RValue::Scalar(constant(width, 0)),
            },
            RValue::Stored(LValue::Element(stack, at)) => {
                let first = self.program.stacks[stack as usize].first;
                self.element_member(stack, at, &Storage::Header(first), index, width)
            }
            RValue::Stored(LValue::ElementPart(stack, at, part)) => {
                self.element_member(stack, at, &part, index, width)
            }
            RValue::Stored(LValue::UnionElement(union, at)) if index < union.stacks.len() => {
                RValue::Stored(LValue::Element(union.stacks[index], at))
            }
            RValue::List(mut parts) if index < parts.len() => parts.swap_remove(index),
            _ => RValue::Scalar(constant(width, 0)),
        }
    }

    /// Member of a header, or of a struct in one, in stack element `at`. `of` is that header or
    /// struct in element 0.
    fn element_member(
        &self,
        stack: StackId,
        at: Expr,
        of: &Storage,
        index: usize,
        width: u32,
    ) -> RValue {
        RValue::Stored(match self.field(of, index) {
            Some(Storage::Scalar(place)) => LValue::ElementField(stack, at, place),
            Some(part) => LValue::ElementPart(stack, at, part),
            None => return RValue::Scalar(constant(width, 0)),
        })
    }

    fn lower_element(&mut self, base: &HExpr, index: &HExpr) -> RValue {
        let base = self.lower_expr(base);
        let Some(stack) = stack_of(&base) else { return RValue::InvalidHeader };
        let (first, size) = {
            let stack = &self.program.stacks[stack as usize];
            (stack.first, stack.size)
        };
        let signed = self.hir.types.is_signed(&index.ty);
        let at = self.lower_scalar(index);
        // A negative index must stay out of range.
        let at = if signed { operators::extend(at, true, 32) } else { at };
        match at {
            Expr::Const(value) => {
                let at = constant_folding::from_value(&value, false);
                match u32::try_from(&at) {
                    Ok(at) if at < size => RValue::Stored(LValue::Storage(match base {
                        RValue::Stored(LValue::Storage(Storage::UnionStack(stack))) => {
                            Storage::Union(Rc::new(self.union_element(&stack, at)))
                        }
                        _ => Storage::Header(first + at),
                    })),
                    _ => {
                        let message =
                            format!("Index {at} is out of range: the stack has {size} elements.");
                        self.reporter.error(index.span, message);
                        RValue::InvalidHeader
                    }
                }
            }
            at => RValue::Stored(element(base, stack, at)),
        }
    }

    pub(super) fn next_index(&self, stack: StackId) -> Expr {
        let word = self.program.stacks[stack as usize].next_index;
        Expr::Load(Place { word, width: 32 })
    }

    fn check_stack_not_empty(&mut self, stack: StackId) {
        self.push_op(Op::CheckStackLast(stack));
    }

    /// `stack.next` or `stack.last`.
    fn lower_next_or_last(&mut self, base: &HExpr, last: bool) -> RValue {
        let base = self.lower_expr(base);
        let Some(stack) = stack_of(&base) else { return RValue::InvalidHeader };
        let mut index = self.next_index(stack);
        if last {
            self.check_stack_not_empty(stack);
            index = operators::binary(BinOp::Sub, false, index, constant(32, 1));
        }
        RValue::Stored(element(base, stack, index))
    }

    /// Validity of a header or header union, as a width-1 expression.
    pub(super) fn validity(&mut self, header: &RValue) -> Expr {
        match header {
            RValue::Stored(LValue::Storage(Storage::Header(id))) => {
                let word = self.program.headers[*id as usize].valid;
                Expr::Load(Place { word, width: 1 })
            }
            RValue::Stored(LValue::Element(stack, index)) => {
                let first = self.program.stacks[*stack as usize].first;
                let word = self.program.headers[first as usize].valid;
                let place = Place { word, width: 1 };
                Expr::LoadElement { stack: *stack, index: Box::new(index.clone()), place }
            }
            RValue::List(_) => constant(1, 1),
            RValue::Stored(LValue::Storage(Storage::Union(_)) | LValue::UnionElement(..)) => {
                let members = match header {
                    RValue::Stored(LValue::Storage(Storage::Union(union))) => union.fields.len(),
                    RValue::Stored(LValue::UnionElement(union, _)) => union.stacks.len(),
                    _ => 0,
                };
                let mut valid = constant(1, 0);
                for i in 0..members {
                    let member = self.member(header.clone(), i, 1);
                    let one = self.validity(&member);
                    valid = operators::binary(BinOp::LogicalOr, false, valid, one);
                }
                valid
            }
            _ => constant(1, 0),
        }
    }

    /// Copies a scalar to a temporary, so that later operations cannot change it.
    pub(super) fn snapshot_scalar(&mut self, expr: Expr) -> Expr {
        match &expr {
            Expr::Const(_) => expr,
            Expr::Load(place) if self.temps.contains(&place.word) => expr,
            _ => {
                let to = self.new_temp(expr.width());
                self.push_op(Op::Assign { to, value: expr });
                Expr::Load(to)
            }
        }
    }

    /// Copies a value to a temporary, so that later operations cannot change it.
    pub(super) fn snapshot(&mut self, value: RValue, ty: &Ty) -> RValue {
        match value {
            RValue::Scalar(expr) => RValue::Scalar(self.snapshot_scalar(expr)),
            RValue::Stored(place) if self.hir.types.width(ty).is_some() => {
                let expr = self.load_lvalue(&place);
                RValue::Scalar(self.snapshot_scalar(expr))
            }
            RValue::Stored(_) | RValue::List(_) => {
                let storage = self.allocate(ty, &join(&self.path.clone(), "tmp"));
                self.assign(&LValue::Storage(storage.clone()), &value, ty);
                RValue::Stored(LValue::Storage(storage))
            }
            other => other,
        }
    }

    fn lower_binary(&mut self, op: BinOp, left: &HExpr, right: &HExpr) -> Expr {
        let hir = self.hir;
        let right_has_effects = has_side_effects(hir, right);
        if matches!(op, BinOp::LogicalAnd | BinOp::LogicalOr) && right_has_effects {
            return self.lower_short_circuit(op, left, right);
        }
        let is_composite = hir.types.width(&left.ty).is_none() && left.ty != Ty::InfInt;
        if is_composite && matches!(op, BinOp::Eq | BinOp::Ne) {
            let mut a = self.lower_expr(left);
            if right_has_effects {
                a = self.snapshot(a, &left.ty);
            }
            let b = self.lower_expr(right);
            let equal = self.lower_equality(&a, &b, &left.ty);
            return if op == BinOp::Eq { equal } else { unary(UnOp::Not, equal, false) };
        }
        let mut a = self.lower_scalar(left);
        if right_has_effects {
            a = self.snapshot_scalar(a);
        }
        let b = self.lower_right_operand(op, right);
        let span = right.span;
        self.operation(op, hir.types.is_signed(&left.ty), a, b, span)
    }

    /// The right operand. The amount of a shift has the bits that it needs if it is an `int`.
    pub(super) fn lower_right_operand(&mut self, op: BinOp, right: &HExpr) -> Expr {
        if right.ty == Ty::InfInt && matches!(op, BinOp::Shl | BinOp::Shr) {
            let amount = self.const_value(right).unwrap_or_default();
            let width = (amount.bits() as u32).max(1);
            return Expr::Const(constant_folding::to_value(&amount, width));
        }
        self.lower_scalar(right)
    }

    /// `left op right`; reports what v1model cannot compute.
    pub(super) fn operation(
        &mut self,
        op: BinOp,
        signed: bool,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Expr {
        if operators::divides(op, &left, &right) {
            self.reporter.error(
                span,
                "v1model divides only by constants that are powers of 2, and computes a modulo \
                 only of those.",
            );
        }
        operators::binary(op, signed, left, right)
    }

    /// `&&` or `||` whose right operand has side effects. It is only evaluated if the left operand
    /// does not determine the result.
    fn lower_short_circuit(&mut self, op: BinOp, left: &HExpr, right: &HExpr) -> Expr {
        let to = self.allocate_scalar(1);
        let value = self.lower_scalar(left);
        self.push_op(Op::Assign { to, value });
        let (more, done) = (self.graph.new_block(""), self.graph.new_block(""));
        let (then, otherwise) = if op == BinOp::LogicalAnd { (more, done) } else { (done, more) };
        self.end_block(Terminator::Branch { cond: Expr::Load(to), then, otherwise });
        self.graph.enter(more);
        let value = self.lower_scalar(right);
        self.push_op(Op::Assign { to, value });
        self.jump(done);
        self.graph.enter(done);
        self.temps.insert(to.word);
        Expr::Load(to)
    }

    fn lower_mux(&mut self, cond: &HExpr, then: &HExpr, otherwise: &HExpr, ty: &Ty) -> RValue {
        let hir = self.hir;
        let has_effects = has_side_effects(hir, then) || has_side_effects(hir, otherwise);
        let cond = self.lower_scalar(cond);
        if hir.types.width(ty).is_some() && !has_effects {
            let (a, b) = (self.lower_scalar(then), self.lower_scalar(otherwise));
            return RValue::Scalar(match &cond {
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
        let storage = self.allocate(ty, &join(&self.path.clone(), "tmp"));
        let to = LValue::Storage(storage);
        let (yes, no, done) =
            (self.graph.new_block(""), self.graph.new_block(""), self.graph.new_block(""));
        self.end_block(Terminator::Branch { cond, then: yes, otherwise: no });
        for (block, value) in [(yes, then), (no, otherwise)] {
            self.graph.enter(block);
            let value = self.lower_expr(value);
            self.assign(&to, &value, ty);
            self.jump(done);
        }
        self.graph.enter(done);
        RValue::Stored(to)
    }

    /// Value of an expression that must be constant at compile time.
    pub(super) fn const_value(&mut self, expr: &HExpr) -> Option<BigInt> {
        match self.lower_scalar(expr) {
            Expr::Const(value) => {
                Some(constant_folding::from_value(&value, self.hir.types.is_signed(&expr.ty)))
            }
            _ => {
                self.reporter.error(expr.span, "This must be a constant.");
                None
            }
        }
    }

    pub(super) fn const_u32(&mut self, expr: &HExpr) -> u32 {
        let Some(value) = self.const_value(expr) else { return 0 };
        u32::try_from(&value).unwrap_or_else(|_| {
            self.reporter.error(expr.span, "This must be a number from 0 to 4294967295.");
            0
        })
    }
}

pub(super) fn unary(op: UnOp, arg: Expr, signed: bool) -> Expr {
    let width = arg.width();
    if let Expr::Const(value) = &arg {
        let number = constant_folding::from_value(value, signed);
        return Expr::Const(constant_folding::to_value(
            &constant_folding::unary(op, &number, Some((width, signed))),
            width,
        ));
    }
    let op = match op {
        UnOp::Not | UnOp::Complement => UnaryOp::Not,
        UnOp::Negate => UnaryOp::Neg,
    };
    Expr::Unary { op, arg: Box::new(arg), width }
}
