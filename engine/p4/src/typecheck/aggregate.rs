//! Checks aggregate expressions: lists `{ a, b }`, records `{ x = a, y = b }` and `{#}`.

use std::rc::Rc;

use netkv_ir::Span;

use super::state::Checker;
use crate::ast::{Expr, ExprKind, Name, StructKind};
use crate::diagnostics::did_you_mean;
use crate::hir::{HExpr, HExprKind};
use crate::types::Ty;

/// Name of the field of a record that is `...`: all fields that it does not list.
pub(crate) const REST: &str = "...";

impl Checker<'_> {
    /// Expected types of the members of a list, if its context determines them.
    fn member_types(&self, hint: Option<&Ty>) -> Vec<Ty> {
        match hint {
            Some(Ty::Struct(id)) => {
                self.hir.types.structs[*id].fields.iter().map(|f| f.ty.clone()).collect()
            }
            Some(Ty::Tuple(parts)) => parts.to_vec(),
            _ => Vec::new(),
        }
    }

    fn fields_of(&self, ty: Option<&Ty>) -> Vec<(Rc<str>, Ty)> {
        match ty {
            Some(Ty::Struct(id)) => {
                let fields = &self.hir.types.structs[*id].fields;
                fields.iter().map(|field| (field.name.clone(), field.ty.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value that `...` stands for: 0, false, the first member, an invalid header, or a struct
    /// of such values.
    pub(super) fn default_value(&mut self, ty: &Ty, span: Span) -> HExpr {
        let (kind, ty) = match (self.hir.types.base(ty), ty) {
            (Ty::Unknown, _) => return HExpr::error(span),
            (Ty::Bit(_) | Ty::Int(_) | Ty::InfInt | Ty::Bool | Ty::Error | Ty::Enum(_), ty) => {
                return HExpr::constant(0, ty.clone(), span);
            }
            (_, ty) if self.hir.types.is_header(ty) => (HExprKind::InvalidHeader, ty.clone()),
            (Ty::Struct(id), ty) if self.hir.types.structs[id].kind == StructKind::Struct => {
                let fields = self.fields_of(Some(ty));
                let parts = fields.iter().map(|(_, ty)| self.default_value(ty, span)).collect();
                (HExprKind::Aggregate(parts), ty.clone())
            }
            (Ty::Tuple(parts), ty) => {
                let parts = parts.iter().map(|ty| self.default_value(ty, span)).collect();
                (HExprKind::Aggregate(parts), ty.clone())
            }
            (_, ty) => {
                let shown = self.show(ty);
                return self.error_expr(span, format!("A {shown} has no default value."));
            }
        };
        HExpr { kind, ty, span }
    }

    pub(super) fn check_list(&mut self, parts: &[Expr], hint: Option<&Ty>, span: Span) -> HExpr {
        let hints = self.member_types(hint);
        let mut checked = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            if matches!(part.kind, ExprKind::Dots) && i + 1 == parts.len() && !hints.is_empty() {
                let rest = hints.iter().skip(i).map(|ty| self.default_value(ty, part.span));
                checked.extend(rest.collect::<Vec<_>>());
                break;
            }
            checked.push(self.check_expr(part, hints.get(i)));
        }
        let types: Vec<Ty> = checked.iter().map(|e| e.ty.clone()).collect();
        HExpr { kind: HExprKind::Aggregate(checked), ty: Ty::Tuple(types.into()), span }
    }

    pub(super) fn check_record(
        &mut self,
        fields: &[(Name, Expr)],
        hint: Option<&Ty>,
        span: Span,
    ) -> HExpr {
        let mut checked = Vec::new();
        let mut types: Vec<(Rc<str>, Ty)> = Vec::new();
        for (name, value) in fields {
            if matches!(value.kind, ExprKind::Dots) && &*name.text == REST {
                for (name, ty) in self.fields_of(hint) {
                    if !types.iter().any(|(given, _)| *given == name) {
                        checked.push(self.default_value(&ty, value.span));
                        types.push((name, ty));
                    }
                }
                break;
            }
            let field_hint = match hint {
                Some(Ty::Struct(id)) => self.hir.types.structs[*id]
                    .fields
                    .iter()
                    .find(|f| f.name == name.text)
                    .map(|f| f.ty.clone()),
                _ => None,
            };
            if types.iter().any(|(n, _)| *n == name.text) {
                self.error(name.span, format!("Field '{}' is given twice.", name.text));
                continue;
            }
            let value = self.check_expr(value, field_hint.as_ref());
            types.push((name.text.clone(), value.ty.clone()));
            checked.push(value);
        }
        HExpr { kind: HExprKind::Aggregate(checked), ty: Ty::Record(types.into()), span }
    }

    /// Converts a list, record or `{#}` to the type that its context expects.
    pub(super) fn convert_aggregate(&mut self, expr: HExpr, to: &Ty) -> HExpr {
        let span = expr.span;
        let shown = self.show(to);
        match (expr.kind, expr.ty, to) {
            (HExprKind::InvalidHeader, _, _) if self.hir.types.is_header(to) => {
                HExpr { kind: HExprKind::InvalidHeader, ty: to.clone(), span }
            }
            (HExprKind::InvalidHeader, ..) => self.error_expr(
                span,
                format!("'{{#}}' is an invalid header, but a {shown} is expected."),
            ),
            (HExprKind::Aggregate(parts), Ty::Tuple(_), Ty::Struct(_) | Ty::Tuple(_)) => {
                let wanted = self.member_types(Some(to));
                if wanted.len() != parts.len() {
                    let message = format!(
                        "{shown} has {} members, but this list has {}.",
                        wanted.len(),
                        parts.len()
                    );
                    return self.error_expr(span, message);
                }
                let mut checked = Vec::new();
                for (part, ty) in parts.into_iter().zip(&wanted) {
                    checked.push(self.convert(part, ty));
                }
                HExpr { kind: HExprKind::Aggregate(checked), ty: to.clone(), span }
            }
            (HExprKind::Aggregate(parts), Ty::Record(names), Ty::Struct(id)) => {
                let fields: Vec<(Rc<str>, Ty)> = self.hir.types.structs[*id]
                    .fields
                    .iter()
                    .map(|f| (f.name.clone(), f.ty.clone()))
                    .collect();
                for ((name, _), part) in names.iter().zip(&parts) {
                    if !fields.iter().any(|(f, _)| f == name) {
                        let hint = did_you_mean(name, fields.iter().map(|(f, _)| &**f));
                        self.error(part.span, format!("{shown} has no field '{name}'.{hint}"));
                    }
                }
                let mut checked = Vec::new();
                for (field, ty) in &fields {
                    match names.iter().position(|(n, _)| n == field) {
                        Some(i) => checked.push(self.convert(parts[i].clone(), ty)),
                        None => {
                            self.error(span, format!("Field '{field}' of {shown} is missing."));
                            checked.push(HExpr::error(span));
                        }
                    }
                }
                HExpr { kind: HExprKind::Aggregate(checked), ty: to.clone(), span }
            }
            _ => self.error_expr(span, format!("Expected a value of type {shown}, not a list.")),
        }
    }
}
