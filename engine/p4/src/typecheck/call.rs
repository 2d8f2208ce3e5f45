//! Checks calls: functions, actions, externs, methods, `apply`.

use std::rc::Rc;

use netkv_ir::Span;

use super::state::{Checker, Context};
use super::symbol::{ExpectedSymbol, Symbol};
use super::type_inference::{Bindings, substitute};
use crate::annotations::Annotations;
use crate::ast::{self, Arg, Dir, Expr, ExprKind, Name};
use crate::diagnostics::did_you_mean;
use crate::hir::{Call, Callee, DeclId, HExpr, HExprKind, HParam};
use crate::types::{FunctionType, ParamType, Ty};

/// Extern functions of other versions of v1model, and their replacements.
const RENAMED: &[(&str, &str)] = &[
    ("clone3", "clone_preserving_field_list"),
    ("resubmit", "resubmit_preserving_field_list"),
    ("recirculate", "recirculate_preserving_field_list"),
];

pub(super) fn applies_table(expr: &HExpr) -> bool {
    match &expr.kind {
        HExprKind::Hit(..) => true,
        HExprKind::Call(call) => call.args.iter().flat_map(|arg| &arg.expr).any(applies_table),
        other => other.operands().into_iter().any(applies_table),
    }
}

impl Checker<'_> {
    pub(super) fn check_call(
        &mut self,
        callee: &Expr,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        match &callee.kind {
            ExprKind::Ident(name) | ExprKind::Global(name) => {
                self.check_named_call(name, types, args, span)
            }
            ExprKind::Member(base, method) => {
                self.check_member_call(base, method, types, args, span)
            }
            _ => self.error_expr(span, "Only functions, actions and methods can be called."),
        }
    }

    fn check_named_call(
        &mut self,
        name: &Name,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let symbol = self.lookup(&name.text).cloned();
        if let (Some(Symbol::Functions(_) | Symbol::Action(_)), Some(ty)) = (&symbol, types.first())
        {
            let message = format!("'{}' takes no type arguments.", name.text);
            return self.error_expr(ty.span, message);
        }
        match symbol {
            Some(Symbol::Functions(overloads)) => {
                let fits = |c: &Self, id: usize| {
                    let params = &c.hir.functions[id].params;
                    let least = params.iter().filter(|p| p.default.is_none()).count();
                    let named = |arg: &Arg| match &arg.name {
                        Some(name) => params.iter().any(|param| param.name == name.text),
                        None => true,
                    };
                    (least..=params.len()).contains(&args.len()) && args.iter().all(named)
                };
                let fitting: Vec<usize> =
                    overloads.iter().copied().filter(|id| fits(self, *id)).collect();
                if fitting.len() > 1 {
                    let message =
                        format!("Several functions '{}' take {} arguments.", name.text, args.len());
                    return self.error_expr(span, message);
                }
                let id = fitting.first().copied().unwrap_or(overloads[0]);
                let result = self.hir.functions[id].result.clone();
                let params = self.hir.functions[id].params.clone();
                self.check_call_with_body(
                    Callee::Function(id),
                    &params,
                    result,
                    args,
                    span,
                    &name.text,
                )
            }
            Some(Symbol::GenericFunctions(overloads)) => {
                self.check_generic_call(&overloads, name, types, args, span)
            }
            Some(Symbol::Action(id)) => {
                if self.context == Context::Function || self.context == Context::Parser {
                    return self.error_expr(
                        span,
                        "An action can only be called in a control or an action.",
                    );
                }
                if self.context == Context::Control {
                    self.hir.actions[id].called = true;
                }
                let params = self.hir.actions[id].params.clone();
                let call = self.check_call_with_body(
                    Callee::Action(id),
                    &params,
                    Ty::Void,
                    args,
                    span,
                    &name.text,
                );
                if let HExprKind::Call(call) = &call.kind
                    && let Some(arg) = call
                        .args
                        .iter()
                        .filter_map(|arg| arg.expr.as_ref())
                        .find(|e| applies_table(e))
                {
                    return self.error_expr(
                        arg.span,
                        "A table cannot be applied in the argument of an action; apply it before, \
                         and keep the result in a variable.",
                    );
                }
                call
            }
            Some(Symbol::Externs(overloads)) => {
                if &*name.text == "static_assert" {
                    return self.check_static_assert(args, span);
                }
                if &*name.text == "verify" && self.context != Context::Parser {
                    return self.error_expr(span, "'verify' can only be called in a parser.");
                }
                let callee = Callee::Extern(name.text.clone());
                self.check_extern_call(callee, &overloads, Bindings::new(), types, args, span)
            }
            Some(Symbol::Type(Ty::Unknown)) => HExpr::error(span),
            None => {
                if let Some((_, new)) = RENAMED.iter().find(|(old, _)| **old == *name.text) {
                    return self.error_expr(
                        span,
                        format!("'{}' is not supported yet; '{new}' does the same.", name.text),
                    );
                }
                self.report_undeclared(name, ExpectedSymbol::Callee);
                HExpr::error(span)
            }
            Some(_) => self.error_expr(span, format!("'{}' cannot be called.", name.text)),
        }
    }

    fn check_static_assert(&mut self, args: &[Arg], span: Span) -> HExpr {
        let cond = match args.first() {
            Some(arg) => self.check_expr_of_type(&arg.expr, &Ty::Bool),
            None => return self.error_expr(span, "'static_assert' takes a condition."),
        };
        match cond.as_const() {
            Some(value) if *value != num_bigint::BigInt::ZERO => {}
            Some(_) => {
                let text = match args.get(1).map(|a| &a.expr.kind) {
                    Some(ExprKind::Str(text)) => format!(": {text}"),
                    _ => ".".to_string(),
                };
                self.error(span, format!("This assertion does not hold{text}"));
            }
            None => self.error(span, "The condition of 'static_assert' must be a constant."),
        }
        HExpr::constant(1, Ty::Bool, span)
    }

    fn check_member_call(
        &mut self,
        base: &Expr,
        method: &Name,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        if let ExprKind::Ident(name) | ExprKind::Global(name) = &base.kind {
            match self.lookup(&name.text).cloned() {
                Some(Symbol::Table(id)) => return self.check_table_apply(id, method, args, span),
                Some(Symbol::Type(Ty::Block(block))) => {
                    return self.check_direct_invocation(block, name, method, args, span);
                }
                Some(Symbol::Type(Ty::Unknown)) => return HExpr::error(span),
                Some(Symbol::Type(ty)) => {
                    return self.check_type_method(name, &ty, method, args, span);
                }
                Some(Symbol::Var(id, Ty::Block(block))) => {
                    return self.check_block_apply(id, block, method, args, span);
                }
                Some(Symbol::Var(id, Ty::BlockType(ty, type_args))) => {
                    return self.check_block_type_apply(id, ty, &type_args, method, args, span);
                }
                Some(Symbol::Var(id, Ty::Extern(of, type_args))) => {
                    return self.check_method_call(id, of, &type_args, method, types, args, span);
                }
                Some(Symbol::Var(_, Ty::Unknown)) => {
                    for arg in args {
                        self.check_arg_expr(&arg.expr, None);
                    }
                    return HExpr::error(span);
                }
                Some(
                    Symbol::Action(_)
                    | Symbol::Functions(_)
                    | Symbol::GenericFunctions(_)
                    | Symbol::Externs(_),
                ) => {
                    return self.error_expr(span, format!("'{}' has no methods.", name.text));
                }
                _ => {}
            }
        }
        let object = self.check_expr(base, None);
        self.check_builtin_method(object, method, args, span)
    }

    fn check_table_apply(&mut self, id: usize, method: &Name, args: &[Arg], span: Span) -> HExpr {
        if &*method.text != "apply" {
            return self.error_expr(
                method.span,
                format!("A table has the method 'apply', not '{}'.", method.text),
            );
        }
        if let Some(arg) = args.first() {
            return self.error_expr(arg.expr.span, "'apply' of a table takes no arguments.");
        }
        if self.context != Context::Control {
            return self.error_expr(
                span,
                "A table can only be applied in the 'apply' block of a control.",
            );
        }
        self.hir.tables[id].applied = true;
        let call =
            Call { callee: Callee::Table(id), type_args: Vec::new(), args: Vec::new(), span };
        HExpr { kind: HExprKind::Call(Box::new(call)), ty: Ty::ApplyResult, span }
    }

    /// Direct type invocation, `Type.apply(...)`: creates an instance that is named like its type.
    fn check_direct_invocation(
        &mut self,
        block: usize,
        name: &Name,
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        if !self.direct_invocations.contains_key(&block) {
            let text = name.text.clone();
            let checked =
                self.make_instance(&Ty::Block(block), &[], text, Annotations::default(), span);
            let Some(checked) = checked else { return HExpr::error(span) };
            self.direct_invocations.insert(block, checked);
        }
        let id = self.direct_invocations[&block].id;
        self.check_block_apply(id, block, method, args, span)
    }

    fn check_block_apply(
        &mut self,
        id: u32,
        block: usize,
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let found = &self.hir.blocks[block];
        let (name, is_parser) = (found.name.clone(), found.is_parser);
        let params = found.params.clone();
        self.check_apply_with_params(id, &name, is_parser, &params, method, args, span)
    }

    #[allow(clippy::too_many_arguments)]
    fn check_apply_with_params(
        &mut self,
        id: u32,
        name: &str,
        is_parser: bool,
        params: &[HParam],
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        if &*method.text != "apply" {
            return self.error_expr(
                method.span,
                format!("Parsers and controls have the method 'apply', not '{}'.", method.text),
            );
        }
        let context = if is_parser { Context::Parser } else { Context::Control };
        if self.context != context {
            let (what, where_) = match context {
                Context::Parser => ("parser", "a parser"),
                _ => ("control", "the 'apply' block of a control"),
            };
            return self.error_expr(span, format!("A {what} can only be applied in {where_}."));
        }
        self.check_call_with_body(Callee::Instance(id), params, Ty::Void, args, span, name)
    }

    /// `apply` of a constructor parameter whose type is a parser or control type.
    fn check_block_type_apply(
        &mut self,
        id: u32,
        ty: usize,
        type_args: &[Ty],
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let found = &self.hir.block_types[ty];
        let (name, is_parser) = (found.name.clone(), found.is_parser);
        let bindings: Bindings =
            found.type_params.iter().cloned().zip(type_args.iter().cloned()).collect();
        let mut params = found.params.clone();
        params.iter_mut().for_each(|param| param.ty = substitute(&param.ty, &bindings));
        self.check_apply_with_params(id, &name, is_parser, &params, method, args, span)
    }

    #[allow(clippy::too_many_arguments)]
    fn check_method_call(
        &mut self,
        id: u32,
        of: usize,
        type_args: &[Ty],
        method: &Name,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let def = &self.hir.types.externs[of];
        let overloads: Vec<Rc<FunctionType>> =
            def.methods.iter().filter(|m| m.name == method.text).cloned().map(Rc::new).collect();
        if overloads.is_empty() {
            let hint = did_you_mean(&method.text, def.methods.iter().map(|m| &*m.name));
            let message = format!("'{}' has no method '{}'.{hint}", def.name, method.text);
            return self.error_expr(method.span, message);
        }
        if &*def.name == "packet_in" && self.context != Context::Parser {
            return self.error_expr(span, "Methods of packet_in can only be called in a parser.");
        }
        let bindings: Bindings =
            def.type_params.iter().cloned().zip(type_args.iter().cloned()).collect();
        let callee = Callee::Method(id, def.name.clone(), method.text.clone());
        let call = self.check_extern_call(callee, &overloads, bindings, types, args, span);
        if let HExprKind::Call(checked) = &call.kind {
            self.check_packet_method(checked);
        }
        call
    }

    pub(super) fn check_arg_expr(&mut self, expr: &Expr, hint: Option<&Ty>) -> Option<HExpr> {
        match expr.kind {
            ExprKind::DontCare => None,
            _ => Some(self.check_expr(expr, hint)),
        }
    }

    /// Call of an extern function or method. The number of arguments selects the overload.
    fn check_extern_call(
        &mut self,
        callee: Callee,
        overloads: &[Rc<FunctionType>],
        mut bindings: Bindings,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let Some(sig) = overloads.iter().find(|s| s.params.len() == args.len()).cloned() else {
            let counts: Vec<String> =
                overloads.iter().map(|s| s.params.len().to_string()).collect();
            let message = format!(
                "'{}' takes {} arguments, but {} are given.",
                overloads[0].name,
                counts.join(" or "),
                args.len()
            );
            return self.error_expr(span, message);
        };
        if !types.is_empty() && types.len() != sig.type_params.len() {
            let message = format!(
                "'{}' takes {} type arguments, but {} are given.",
                sig.name,
                sig.type_params.len(),
                types.len()
            );
            return self.error_expr(span, message);
        }
        for (name, ty) in sig.type_params.iter().zip(types) {
            let ty = self.check_type(ty);
            if ty != Ty::Infer {
                bindings.insert(name.clone(), ty);
            }
        }
        let names: Vec<Rc<str>> = sig.params.iter().map(|p| p.name.clone()).collect();
        let optional = vec![false; names.len()];
        let Some(order) = self.match_args(&names, &optional, args, span, &sig.name) else {
            return HExpr::error(span);
        };
        let mut checked: Vec<Option<HExpr>> = Vec::new();
        for (param, index) in sig.params.iter().zip(&order) {
            let arg = index.map(|i| &args[i].expr);
            let hint = substitute(&param.ty, &bindings);
            let value = arg.and_then(|expr| self.check_arg_expr(expr, Some(&hint)));
            if let Some(value) = &value {
                self.infer(&param.ty, &value.ty, &mut bindings);
            }
            checked.push(value);
        }
        let mut finished = Vec::new();
        for (param, value) in sig.params.iter().zip(checked) {
            let ty = substitute(&param.ty, &bindings);
            finished.push(self.check_arg(param, &ty, value, span));
        }
        let mut type_args = Vec::new();
        for name in &sig.type_params {
            match bindings.get(name) {
                Some(ty) => type_args.push(ty.clone()),
                None => {
                    return self.error_expr(span, format!("Type argument '{name}' of '{}' is not known here; write '{}<...>(...)'.", sig.name, sig.name));
                }
            }
        }
        let ty = substitute(&sig.result, &bindings);
        let call = Call { callee, type_args, args: finished, span };
        HExpr { kind: HExprKind::Call(Box::new(call)), ty, span }
    }

    /// Reports a constant for a parameter without direction that differs from that of an earlier
    /// call of the same instance. Each direct type invocation is an instance of its own.
    fn check_same_constant(&mut self, instance: DeclId, param: &HParam, value: &HExpr) {
        if self.direct_invocations.values().any(|direct| direct.id == instance) {
            return;
        }
        let Some(number) = value.as_const() else { return };
        let key = (instance, param.id);
        let first = self.constant_arguments.entry(key).or_insert_with(|| number.clone());
        if first != number {
            let message = format!(
                "Parameter '{}' has no direction, so all calls of one instance give it the same \
                 constant; an earlier one gives {first}.",
                param.name
            );
            self.error(value.span, message);
        }
    }

    /// True for constants, and what is computed from constructor parameters and from parameters
    /// without direction.
    fn is_known_at_compile_time(&self, value: &HExpr) -> bool {
        match &value.kind {
            HExprKind::Const(_) | HExprKind::Error => true,
            HExprKind::Var(id) => self.parameters.get(id) == Some(&Dir::None),
            kind => {
                let operands = kind.operands();
                !operands.is_empty()
                    && operands.into_iter().all(|part| self.is_known_at_compile_time(part))
            }
        }
    }

    /// Call of a function, action, parser or control.
    pub(super) fn check_call_with_body(
        &mut self,
        callee: Callee,
        params: &[HParam],
        result: Ty,
        args: &[Arg],
        span: Span,
        name: &str,
    ) -> HExpr {
        let names: Vec<Rc<str>> = params.iter().map(|p| p.name.clone()).collect();
        let optional: Vec<bool> = params.iter().map(|p| p.default.is_some()).collect();
        let Some(order) = self.match_args(&names, &optional, args, span, name) else {
            return HExpr::error(span);
        };
        let mut finished = Vec::new();
        for (param, index) in params.iter().zip(order) {
            let value = match index {
                Some(i) => self.check_arg_expr(&args[i].expr, Some(&param.ty)),
                None => param.default.clone(),
            };
            let has_body = matches!(callee, Callee::Function(_) | Callee::Instance(_));
            if let (true, Dir::None, Some(value)) = (has_body, param.dir, &value)
                && !matches!(value.ty, Ty::Extern(..))
                && !self.is_known_at_compile_time(value)
            {
                let message = format!(
                    "Parameter '{}' has no direction, so its argument must be a constant.",
                    param.name
                );
                self.error(value.span, message);
            }
            if let (Callee::Instance(id), Dir::None, Some(value)) = (&callee, param.dir, &value) {
                self.check_same_constant(*id, param, value);
            }
            let plain =
                ParamType { name: param.name.clone(), dir: param.dir, ty: param.ty.clone() };
            let at = index.map_or(span, |i| args[i].expr.span);
            finished.push(self.check_arg(&plain, &param.ty, value, at));
        }
        let call = Call { callee, type_args: Vec::new(), args: finished, span };
        HExpr { kind: HExprKind::Call(Box::new(call)), ty: result, span }
    }
}
