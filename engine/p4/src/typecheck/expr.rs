//! Checks expressions: names, members, indices, slices and l-values.

use netkv_ir::Span;
use num_bigint::BigInt;

use super::state::{Checker, Context};
use super::symbol::{ExpectedSymbol, Symbol};
use crate::ast::{Expr, ExprKind, Name, StructKind};
use crate::constant_folding;
use crate::diagnostics::did_you_mean;
use crate::hir::{Callee, HExpr, HExprKind};
use crate::types::Ty;

impl Checker<'_> {
    /// Checks an expression. `hint` is the expected type; only `{ ... }` uses it.
    pub(super) fn check_expr(&mut self, expr: &Expr, hint: Option<&Ty>) -> HExpr {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value, None, _) => HExpr::constant(value.clone(), Ty::InfInt, span),
            ExprKind::Int(value, Some((width, signed)), _) => {
                let ty = if *signed { Ty::Int(*width) } else { Ty::Bit(*width) };
                let format = Some((*width, *signed));
                let wrapped = constant_folding::wrap(value, format);
                if wrapped != *value {
                    let shown = self.show(&ty);
                    self.reporter.warning(
                        span,
                        format!("{value} does not fit in {shown}; it is cut to {wrapped}."),
                    );
                }
                HExpr::constant(wrapped, ty, span)
            }
            ExprKind::Bool(value) => HExpr::constant(u8::from(*value), Ty::Bool, span),
            ExprKind::Str(text) => HExpr { kind: HExprKind::Str(text.clone()), ty: Ty::Str, span },
            ExprKind::Ident(name) => {
                let symbol = self.lookup(&name.text).cloned();
                self.check_name(name, symbol)
            }
            ExprKind::Global(name) => {
                let symbol = self.scopes[0].get(&name.text).cloned();
                self.check_name(name, symbol)
            }
            ExprKind::Member(base, name) => self.check_member(base, name, span),
            ExprKind::Index(base, index) => self.check_index(base, index, span),
            ExprKind::Slice(base, high, low) => self.check_slice(base, high, low, span),
            ExprKind::Unary(op, arg) => self.check_unary(op, arg, span),
            ExprKind::Binary(op, left, right) => self.check_binary(op, left, right, span),
            ExprKind::Mux(cond, then, otherwise) => {
                self.check_mux(cond, then, otherwise, hint, span)
            }
            ExprKind::Cast(ty, arg) => {
                let ty = self.check_type(ty);
                let arg = self.check_expr(arg, Some(&ty));
                self.check_cast(arg, &ty, span)
            }
            ExprKind::Call(callee, types, args) => self.check_call(callee, types, args, span),
            ExprKind::List(parts) => self.check_list(parts, hint, span),
            ExprKind::Record(fields) => self.check_record(fields, hint, span),
            ExprKind::InvalidHeader => {
                HExpr { kind: HExprKind::InvalidHeader, ty: Ty::InvalidHeader, span }
            }
            ExprKind::Dots => match hint {
                Some(ty) => self.default_value(ty, span),
                None => self.error_expr(span, "The type that '...' stands for is not known here."),
            },
            ExprKind::DontCare => self.error_expr(span, "'_' has no value here."),
            ExprKind::KeyTuple(_) | ExprKind::Mask(..) | ExprKind::Range(..) => self.error_expr(
                span,
                "A set of values can only stand in a select or in table entries.",
            ),
        }
    }

    fn check_name(&mut self, name: &Name, symbol: Option<Symbol>) -> HExpr {
        let span = name.span;
        let what = match symbol {
            Some(Symbol::Const(value)) => return HExpr { span, ..value },
            Some(Symbol::Var(id, ty)) => return HExpr { kind: HExprKind::Var(id), ty, span },
            Some(Symbol::Type(Ty::Unknown)) => return HExpr::error(span),
            None => {
                self.report_undeclared(name, ExpectedSymbol::Value);
                return HExpr::error(span);
            }
            Some(Symbol::Type(_) | Symbol::BlockType(_) | Symbol::GenericStruct(_)) => "a type",
            Some(Symbol::Functions(_) | Symbol::GenericFunctions(_) | Symbol::Externs(_)) => {
                "a function"
            }
            Some(Symbol::Action(_)) => "an action",
            Some(Symbol::Table(_)) => "a table",
            Some(Symbol::ValueSet(..)) => "a value set",
        };
        self.error_expr(span, format!("'{}' is {what}, not a value.", name.text))
    }

    fn check_member(&mut self, base: &Expr, name: &Name, span: Span) -> HExpr {
        if let ExprKind::Ident(of) | ExprKind::Global(of) = &base.kind {
            if &*of.text == "error" {
                return self.check_error_member(name);
            }
            if let Some(Symbol::Type(Ty::Enum(id))) = self.lookup(&of.text) {
                let id = *id;
                return self.check_enum_member(id, name);
            }
        }
        let base = self.check_expr(base, None);
        match self.hir.types.base(&base.ty) {
            Ty::Unknown => HExpr::error(span),
            Ty::Struct(id) => {
                let def = &self.hir.types.structs[id];
                if let Some(index) = def.fields.iter().position(|f| f.name == name.text) {
                    let ty = def.fields[index].ty.clone();
                    if matches!(base.kind, HExprKind::Next(_)) && def.kind == StructKind::Header {
                        return self.error_expr(
                            span,
                            "The fields of 'next' have no values yet: extract it, and take them \
                             from 'last'.",
                        );
                    }
                    if let HExprKind::Aggregate(parts) = base.kind {
                        return HExpr { span, ..parts[index].clone() };
                    }
                    return HExpr { kind: HExprKind::Field(Box::new(base), index), ty, span };
                }
                let hint = did_you_mean(&name.text, def.fields.iter().map(|f| &*f.name));
                let kind = match def.kind {
                    StructKind::Header => "Header",
                    StructKind::Struct => "Struct",
                    StructKind::Union => "Header union",
                };
                let method = match &*name.text {
                    "isValid" | "setValid" | "setInvalid" => " It is a method: add '()'.",
                    _ => "",
                };
                let message =
                    format!("{kind} '{}' has no field '{}'.{hint}{method}", def.name, name.text);
                self.error_expr(name.span, message)
            }
            Ty::Stack(element, size) => self.check_stack_member(base, &element, size, name, span),
            Ty::ApplyResult => match (base.kind, &*name.text) {
                (HExprKind::Call(call), "hit" | "miss") => {
                    let hit = &*name.text == "hit";
                    HExpr { kind: HExprKind::Hit(call, hit), ty: Ty::Bool, span }
                }
                (_, "action_run") => {
                    self.error_expr(span, "'action_run' can only be the value of a 'switch'.")
                }
                _ => self.error_expr(
                    name.span,
                    format!(
                        "The result of a table has hit, miss and action_run, not '{}'.",
                        name.text
                    ),
                ),
            },
            _ => {
                let shown = self.show(&base.ty);
                self.error_expr(
                    name.span,
                    format!("A value of type {shown} has no member '{}'.", name.text),
                )
            }
        }
    }

    fn check_stack_member(
        &mut self,
        base: HExpr,
        element: &Ty,
        size: u32,
        name: &Name,
        span: Span,
    ) -> HExpr {
        let base = Box::new(base);
        let in_parser = matches!(self.context, Context::Parser | Context::Function);
        let (kind, ty) = match &*name.text {
            "size" => return HExpr::constant(size, Ty::Bit(32), span),
            "next" => (HExprKind::Next(base), element.clone()),
            "last" => (HExprKind::Last(base), element.clone()),
            "lastIndex" => (HExprKind::LastIndex(base), Ty::Bit(32)),
            text => {
                let known = ["next", "last", "lastIndex", "size", "push_front", "pop_front"];
                let hint = did_you_mean(text, known.into_iter());
                return self
                    .error_expr(name.span, format!("A stack has no member '{text}'.{hint}"));
            }
        };
        if !in_parser {
            return self.error_expr(
                name.span,
                format!("'{}' of a stack can only be used in a parser.", name.text),
            );
        }
        HExpr { kind, ty, span }
    }

    fn check_error_member(&mut self, name: &Name) -> HExpr {
        let errors = &self.hir.types.errors;
        if let Some(index) = errors.iter().position(|e| *e == name.text) {
            return HExpr::constant(index, Ty::Error, name.span);
        }
        let hint = did_you_mean(&name.text, errors.iter().map(|e| &**e));
        self.error_expr(name.span, format!("Error '{}' is not declared.{hint}", name.text))
    }

    fn check_enum_member(&mut self, id: usize, name: &Name) -> HExpr {
        let def = &self.hir.types.enums[id];
        if let Some((_, value)) = def.members.iter().find(|(n, _)| *n == name.text) {
            return HExpr::constant(value.clone(), Ty::Enum(id), name.span);
        }
        let hint = did_you_mean(&name.text, def.members.iter().map(|(n, _)| &**n));
        let message = format!("Enum '{}' has no member '{}'.{hint}", def.name, name.text);
        self.error_expr(name.span, message)
    }

    fn check_index(&mut self, base: &Expr, index: &Expr, span: Span) -> HExpr {
        let base = self.check_expr(base, None);
        let index = self.check_expr(index, None);
        if base.ty == Ty::Unknown || index.ty == Ty::Unknown {
            return HExpr::error(span);
        }
        let constant = index.as_const().cloned();
        match self.hir.types.base(&base.ty) {
            Ty::Stack(element, size) => {
                if let Some(value) = constant
                    && (value < BigInt::ZERO || value >= BigInt::from(size))
                {
                    return self.error_expr(
                        index.span,
                        format!("Index {value} is out of range: the stack has {size} elements."),
                    );
                }
                let index = match self.hir.types.base(&index.ty) {
                    Ty::Bit(_) | Ty::Int(_) | Ty::InfInt => index,
                    Ty::Enum(_) => self.convert_to_underlying_type(index),
                    _ => {
                        let shown = self.show(&index.ty);
                        return self.error_expr(
                            index.span,
                            format!("An index is a bit<W> or int<W>, not a {shown}."),
                        );
                    }
                };
                let kind = HExprKind::Element(Box::new(base), Box::new(index));
                HExpr { kind, ty: (*element).clone(), span }
            }
            Ty::Tuple(parts) => {
                let found =
                    constant.and_then(|v| usize::try_from(v).ok()).filter(|i| *i < parts.len());
                match found {
                    Some(i) => {
                        let ty = parts[i].clone();
                        if let HExprKind::Aggregate(values) = base.kind {
                            return values[i].clone();
                        }
                        HExpr { kind: HExprKind::Field(Box::new(base), i), ty, span }
                    }
                    None => self.error_expr(
                        index.span,
                        format!("The index of a tuple is a constant below {}.", parts.len()),
                    ),
                }
            }
            _ => {
                let shown = self.show(&base.ty);
                self.error_expr(
                    span,
                    format!("A value of type {shown} has no elements; for bits write [high:low]."),
                )
            }
        }
    }

    fn check_slice(&mut self, base: &Expr, high: &Expr, low: &Expr, span: Span) -> HExpr {
        let base = self.check_expr(base, None);
        let high = self.const_u32(high, "The upper end of a slice");
        let low = self.const_u32(low, "The lower end of a slice");
        let (Some(high), Some(low)) = (high, low) else { return HExpr::error(span) };
        let base = self.convert_to_underlying_type(base);
        let width = match base.ty {
            Ty::Bit(width) | Ty::Int(width) => width,
            Ty::InfInt if base.as_const().is_some() => crate::token::MAX_WIDTH,
            Ty::Unknown => return HExpr::error(span),
            _ => {
                let shown = self.show(&base.ty);
                return self.error_expr(
                    span,
                    format!("A slice is taken of a bit<W> or int<W>, not of {shown}."),
                );
            }
        };
        if high < low || high >= width {
            return self.error_expr(span, format!("Slice [{high}:{low}] does not fit: it must be [high:low] with {width} > high >= low."));
        }
        let ty = Ty::Bit(high - low + 1);
        if let Some(value) = base.as_const() {
            let cut = constant_folding::wrap(&(value >> low), Some((high - low + 1, false)));
            return HExpr::constant(cut, ty, span);
        }
        HExpr { kind: HExprKind::Slice(Box::new(base), high, low), ty, span }
    }

    /// Reports an expression that is not an l-value. `what` names it in the message.
    pub(super) fn check_lvalue(&mut self, expr: &HExpr, what: &str) {
        let mut at = expr;
        loop {
            match &at.kind {
                HExprKind::Var(id) => {
                    if !self.writable.contains(id) {
                        self.error(expr.span, format!("{what} cannot be changed: it is a parameter without 'out' or 'inout', or no variable."));
                    }
                    return;
                }
                HExprKind::Field(base, _)
                | HExprKind::Element(base, _)
                | HExprKind::Slice(base, ..) => at = base,
                HExprKind::Next(base) => at = base,
                HExprKind::Last(_) => {
                    self.error(
                        expr.span,
                        format!("{what} cannot be changed: 'last' is read only."),
                    );
                    return;
                }
                HExprKind::Error => return,
                _ => {
                    self.error(
                        expr.span,
                        format!("{what} cannot be changed: it is not a variable or a part of one."),
                    );
                    return;
                }
            }
        }
    }

    /// True if the expression applies a table.
    pub(super) fn is_apply(expr: &HExpr) -> bool {
        matches!(&expr.kind, HExprKind::Call(call) if matches!(call.callee, Callee::Table(_)))
    }
}
