//! Matches arguments with parameters, and checks them.

use std::rc::Rc;

use netkv_ir::Span;

use super::state::Checker;
use crate::ast::{Arg, Dir};
use crate::diagnostics::did_you_mean;
use crate::hir::{CallArg, HExpr, HExprKind};
use crate::types::{ParamType, Ty};

impl Checker<'_> {
    /// Checks and converts an argument for a parameter, whose type is `ty` after inference.
    pub(super) fn check_arg(
        &mut self,
        param: &ParamType,
        ty: &Ty,
        value: Option<HExpr>,
        span: Span,
    ) -> CallArg {
        let expr = match (value, param.dir) {
            (Some(value), Dir::Out | Dir::InOut) => {
                self.check_lvalue(&value, &format!("The argument for '{}'", param.name));
                if value.ty != *ty && value.ty != Ty::Unknown && *ty != Ty::Unknown {
                    let (wanted, found) = (self.show(ty), self.show(&value.ty));
                    self.error(value.span, format!("The argument for '{}' must be a variable of type {wanted}, not {found}.", param.name));
                }
                Some(value)
            }
            (Some(value), _) => {
                let value = self.convert(value, ty);
                if *ty != Ty::InfInt {
                    self.check_widths_known(&value);
                }
                Some(value)
            }
            (None, Dir::Out) => None,
            (None, _) => {
                let message = format!("'_' is no value for '{}': only 'out' takes it.", param.name);
                self.error(span, message);
                None
            }
        };
        CallArg { dir: param.dir, expr }
    }

    /// Reports numbers without width in an argument.
    fn check_widths_known(&mut self, value: &HExpr) {
        match &value.kind {
            HExprKind::Aggregate(parts) => {
                parts.iter().for_each(|part| self.check_widths_known(part));
            }
            _ if value.ty == Ty::InfInt => self.error(
                value.span,
                "The width of this number is not known here; write it with one, such as 32w1.",
            ),
            _ => {}
        }
    }

    /// Index of the argument of each parameter, by position or by name. `None`: an error was
    /// reported.
    pub(super) fn match_args(
        &mut self,
        names: &[Rc<str>],
        optional: &[bool],
        args: &[Arg],
        span: Span,
        callee: &str,
    ) -> Option<Vec<Option<usize>>> {
        let mut order = vec![None; names.len()];
        let named = args.iter().any(|a| a.name.is_some());
        for (i, arg) in args.iter().enumerate() {
            let index = match &arg.name {
                Some(name) => match names.iter().position(|n| *n == name.text) {
                    Some(index) => index,
                    None => {
                        let hint = did_you_mean(&name.text, names.iter().map(|n| &**n));
                        self.error(
                            name.span,
                            format!("{callee} has no parameter '{}'.{hint}", name.text),
                        );
                        return None;
                    }
                },
                None if named => {
                    self.error(arg.expr.span, "Either all arguments have names or none has.");
                    return None;
                }
                None => i,
            };
            match order.get_mut(index) {
                Some(slot @ None) => *slot = Some(i),
                Some(Some(_)) => {
                    self.error(
                        arg.expr.span,
                        format!("Parameter '{}' is given twice.", names[index]),
                    );
                    return None;
                }
                None => {
                    let message = format!(
                        "{callee} takes {} arguments, but {} are given.",
                        names.len(),
                        args.len()
                    );
                    self.error(span, message);
                    return None;
                }
            }
        }
        if let Some(missing) = (0..names.len()).find(|i| order[*i].is_none() && !optional[*i]) {
            let message = format!(
                "{callee} takes {} arguments, but {} are given; '{}' is missing.",
                names.len(),
                args.len(),
                names[missing]
            );
            self.error(span, message);
            return None;
        }
        Some(order)
    }
}
