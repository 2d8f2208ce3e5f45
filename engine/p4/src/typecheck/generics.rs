//! Generic structs, headers and functions: each use with other type arguments makes a copy.

use std::rc::Rc;

use netkv_ir::Span;

use super::state::Checker;
use super::symbol::Symbol;
use super::type_inference::Bindings;
use crate::ast::{self, Arg, Decl, DeclKind, Expr, Name, Signature, Stmt};
use crate::hir::{Callee, HExpr};
use crate::types::Ty;

/// Maximum nesting of copies, so that a declaration that uses itself ends.
const MAX_DEPTH: usize = 32;

impl Checker<'_> {
    pub(super) fn declare_generic_struct(&mut self, decl: &Decl, name: &Name) {
        let id = self.generics.structs.len();
        self.generics.structs.push((Rc::new(decl.clone()), Vec::new()));
        self.declare(name, Symbol::GenericStruct(id));
    }

    pub(super) fn declare_generic_function(&mut self, signature: &Signature, body: &[Stmt]) {
        let id = self.generics.functions.len();
        let function = Rc::new((signature.clone(), body.to_vec()));
        self.generics.functions.push((function, Vec::new()));
        match self.scopes[0].get_mut(&signature.name.text) {
            Some(Symbol::GenericFunctions(overloads)) => overloads.push(id),
            _ => self.declare(&signature.name, Symbol::GenericFunctions(vec![id])),
        }
    }

    /// Checks a copy at the top level, where the type parameters have these types.
    fn make_copy<T>(
        &mut self,
        params: &[Name],
        args: &[Ty],
        span: Span,
        check: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if self.generics.depth >= MAX_DEPTH {
            self.error(span, "This generic declaration uses itself without an end.");
            return None;
        }
        let inner = self.scopes.split_off(1);
        let (context, loops) = (self.context, std::mem::take(&mut self.loops));
        self.generics.depth += 1;
        self.push_scope();
        for (param, arg) in params.iter().zip(args) {
            self.declare(param, Symbol::Type(arg.clone()));
        }
        let result = check(self);
        self.scopes.truncate(1);
        self.scopes.extend(inner);
        self.generics.depth -= 1;
        (self.context, self.loops) = (context, loops);
        Some(result)
    }

    /// The struct or header `name<args>`.
    pub(super) fn generic_struct(&mut self, id: usize, name: &Name, args: &[ast::Type]) -> Ty {
        let args: Vec<Ty> = args.iter().map(|arg| self.check_type(arg)).collect();
        let (decl, copies) = &self.generics.structs[id];
        let decl = decl.clone();
        let DeclKind::Struct { kind, type_params, fields, .. } = &decl.kind else {
            return Ty::Unknown;
        };
        if args.len() != type_params.len() {
            let message = format!(
                "Type '{}' takes {} type arguments, but {} are given.",
                name.text,
                type_params.len(),
                args.len()
            );
            self.error(name.span, message);
            return Ty::Unknown;
        }
        if let Some((_, ty)) = copies.iter().find(|(known, _)| *known == args) {
            return ty.clone();
        }
        let shown: Vec<String> = args.iter().map(|arg| self.show(arg)).collect();
        let text = format!("{}<{}>", name.text, shown.join(", ")).into();
        let own = Name { text, span: name.span };
        let made = self.make_copy(type_params, &args, name.span, |c| {
            c.check_struct_decl(&decl, *kind, &own, fields);
            Ty::Struct(c.hir.types.structs.len() - 1)
        });
        let ty = made.unwrap_or(Ty::Unknown);
        self.generics.structs[id].1.push((args, ty.clone()));
        ty
    }

    /// Call of a generic function. The arguments determine the type arguments that are not given.
    pub(super) fn check_generic_call(
        &mut self,
        overloads: &[usize],
        name: &Name,
        types: &[ast::Type],
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let fits = |c: &Self, id: usize| c.generics.functions[id].0.0.params.len() == args.len();
        let id = overloads.iter().copied().find(|id| fits(self, *id)).unwrap_or(overloads[0]);
        let function = self.generics.functions[id].0.clone();
        let signature = &function.0;
        if !types.is_empty() && types.len() != signature.type_params.len() {
            let message = format!(
                "'{}' takes {} type arguments, but {} are given.",
                name.text,
                signature.type_params.len(),
                types.len()
            );
            return self.error_expr(span, message);
        }
        let mut bindings = Bindings::new();
        let given: Vec<Ty> = types.iter().map(|ty| self.check_type(ty)).collect();
        for (param, ty) in signature.type_params.iter().zip(given) {
            if ty != Ty::Infer {
                bindings.insert(param.text.clone(), ty);
            }
        }
        let params = self.check_signature(signature).params;
        for (at, param) in params.iter().enumerate() {
            let named = |arg: &&Arg| arg.name.as_ref().is_some_and(|n| n.text == param.name);
            let arg = args.iter().find(named).or_else(|| args.get(at));
            let value = arg.and_then(|arg: &Arg| -> Option<HExpr> {
                let expr: &Expr = &arg.expr;
                self.check_arg_expr(expr, None)
            });
            if let Some(value) = value {
                self.infer(&param.ty, &value.ty, &mut bindings);
            }
        }
        let mut found = Vec::new();
        for param in &signature.type_params {
            match bindings.get(&param.text) {
                Some(Ty::InfInt) | None => {
                    let text = &name.text;
                    let message = format!(
                        "Type argument '{}' of '{text}' is not known here; write '{text}<...>(...)'.",
                        param.text
                    );
                    return self.error_expr(span, message);
                }
                Some(ty) => found.push(ty.clone()),
            }
        }
        let copies = &self.generics.functions[id].1;
        let known = copies.iter().find(|(args, _)| *args == found).map(|(_, id)| *id);
        let copy = match known {
            Some(copy) => copy,
            None => {
                let own = Signature { type_params: Vec::new(), ..signature.clone() };
                let made = self.make_copy(&signature.type_params, &found, span, |c| {
                    c.check_function_body(&own, &function.1)
                });
                let Some(copy) = made else { return HExpr::error(span) };
                self.generics.functions[id].1.push((found, copy));
                copy
            }
        };
        let (params, result) = {
            let function = &self.hir.functions[copy];
            (function.params.clone(), function.result.clone())
        };
        self.check_call_with_body(Callee::Function(copy), &params, result, args, span, &name.text)
    }
}
