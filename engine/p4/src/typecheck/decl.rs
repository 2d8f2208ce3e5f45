//! Checks top-level declarations, and the local declarations of parsers and controls.

use std::rc::Rc;

use super::state::{Checker, Context};
use super::symbol::Symbol;
use crate::ast::{self, BlockDecl, Decl, DeclKind, Dir, Name, Signature, Stmt, TypeKind};
use crate::diagnostics::did_you_mean;
use crate::hir::{
    HAction, HBlock, HBlockType, HExpr, HExprKind, HFunction, HLocal, HParam, HValueSet, HVar,
    InstanceKind,
};
use crate::types::{PackageType, Ty};

/// The first and the last version of v1model.
const V1MODEL_VERSIONS: (u32, u32) = (20_180_101, 20_200_408);

impl Checker<'_> {
    /// Checks the parameters of a function, action or block, and declares them in this scope.
    pub(super) fn check_params(&mut self, params: &[ast::Param]) -> Vec<HParam> {
        let mut checked = Vec::new();
        for param in params {
            let ty = self.check_param_type(param);
            let default = param.default.as_ref().map(|e| {
                let value = self.check_expr_of_type(e, &ty);
                if !self.is_const(&value) {
                    self.error(e.span, "The default of a parameter must be a constant.");
                }
                value
            });
            let writable = matches!(param.dir, ast::Dir::Out | ast::Dir::InOut);
            let id = self.declare_var(&param.name, ty.clone(), writable);
            self.parameters.insert(id, param.dir);
            let annotations = self.check_annotations(&param.annotations);
            let name = param.name.text.clone();
            checked.push(HParam { id, name, dir: param.dir, ty, default, annotations });
        }
        checked
    }

    pub(super) fn check_top_level(&mut self, decl: &Decl) {
        match &decl.kind {
            DeclKind::Const { ty, name, value } => self.check_const_decl(ty, name, value),
            DeclKind::Var { name, .. } => {
                let message = format!(
                    "Variable '{}' must stand inside a parser, control, action or function.",
                    name.text
                );
                self.error(name.span, message);
            }
            DeclKind::Typedef { ty, name, new_type } => {
                let of = self.check_type(ty);
                if !new_type {
                    return self.declare(name, Symbol::Type(of));
                }
                let is_scalar = matches!(of, Ty::Unknown)
                    || (self.hir.types.width(&of).is_some() && !matches!(of, Ty::Enum(_)));
                if !is_scalar {
                    self.error(
                        ty.span,
                        "'type' makes a new type of a bit<W>, int<W> or bool only.",
                    );
                }
                let id = self.hir.types.new_types.len();
                let annotations = self.check_annotations(&decl.annotations);
                self.hir.types.new_types.push((name.text.clone(), of));
                self.hir.types.new_type_annotations.push(annotations);
                self.declare(name, Symbol::Type(Ty::NewType(id)));
            }
            DeclKind::Struct { kind, name, type_params, fields } => {
                if !type_params.is_empty() {
                    return self.declare_generic_struct(decl, name);
                }
                self.check_struct_decl(decl, *kind, name, fields);
            }
            DeclKind::Enum { name, repr, members } => {
                self.check_enum_decl(name, repr.as_ref(), members)
            }
            DeclKind::Errors(names) => {
                for name in names {
                    if self.hir.types.errors.contains(&name.text) {
                        self.error(
                            name.span,
                            format!("Error '{}' is declared already.", name.text),
                        );
                    } else {
                        self.hir.types.errors.push(name.text.clone());
                    }
                }
            }
            DeclKind::MatchKinds(names) => {
                self.match_kinds.extend(names.iter().map(|n| n.text.clone()));
            }
            DeclKind::Extern { name, type_params, methods } => {
                self.check_extern_decl(name, type_params, methods);
            }
            DeclKind::ExternFunction(signature) => {
                let sig = Rc::new(self.check_signature(signature));
                let name = &signature.name;
                match self.scopes[0].get_mut(&name.text) {
                    Some(Symbol::Externs(overloads)) => overloads.push(sig),
                    _ => self.declare(name, Symbol::Externs(vec![sig])),
                }
            }
            DeclKind::Function(signature, body) => self.check_function(signature, body),
            DeclKind::Action { name, params, body } => {
                self.check_action(decl, name, params, body, true)
            }
            DeclKind::Block(block) => match &block.body {
                Some(body) => self.check_block(decl, block, body),
                // The package instance is checked against V1Switch, not against these types.
                None => self.check_block_type(block),
            },
            DeclKind::Package { name, type_params } => {
                let id = self.packages.len();
                let type_params = type_params.len();
                self.packages.push(PackageType { name: name.text.clone(), type_params });
                self.declare(name, Symbol::Type(Ty::Package(id)));
            }
            DeclKind::Instance { ty, args, name } => {
                if let Some(instance) = self.check_instance(decl, ty, args, name) {
                    if let InstanceKind::Block(_) = instance.kind {
                        let message = format!(
                            "A parser or control cannot be instantiated here, only in another one \
                             or as an argument of V1Switch; '{}' is neither.",
                            name.text
                        );
                        self.error(name.span, message);
                    }
                    self.hir.instances.push(instance);
                }
            }
            DeclKind::Table { name, .. } => {
                self.error(name.span, "A table must stand inside a control.");
            }
            // The parser reports it.
            DeclKind::ValueSet { .. } => {}
        }
    }

    pub(super) fn check_const_decl(&mut self, ty: &ast::Type, name: &Name, value: &ast::Expr) {
        let ty = self.check_type(ty);
        let mut checked = self.check_expr_of_type(value, &ty);
        if &*name.text == "__v1model_version" {
            self.check_model_version(&checked);
        }
        if !self.is_const(&checked) {
            self.error(value.span, format!("The value of '{}' is not a constant.", name.text));
            checked = HExpr::error(value.span);
        }
        self.declare(name, Symbol::Const(checked));
    }

    /// `V1MODEL_VERSION`, which the program may define.
    fn check_model_version(&mut self, version: &HExpr) {
        let (first, last) = V1MODEL_VERSIONS;
        let known = version.as_const().is_some_and(|v| *v >= first.into() && *v <= last.into());
        if !known {
            self.error(
                version.span,
                format!("V1MODEL_VERSION is not known: versions go from {first} to {last}."),
            );
        }
    }

    pub(super) fn is_const(&self, expr: &HExpr) -> bool {
        match &expr.kind {
            HExprKind::Const(_)
            | HExprKind::Str(_)
            | HExprKind::Error
            | HExprKind::InvalidHeader => true,
            HExprKind::Aggregate(parts) => parts.iter().all(|part| self.is_const(part)),
            _ => false,
        }
    }

    fn check_function(&mut self, signature: &Signature, body: &[Stmt]) {
        if !signature.type_params.is_empty() {
            return self.declare_generic_function(signature, body);
        }
        let id = self.check_function_body(signature, body);
        let name = &signature.name;
        match self.scopes[0].get_mut(&name.text) {
            Some(Symbol::Functions(overloads)) => overloads.push(id),
            _ => self.declare(name, Symbol::Functions(vec![id])),
        }
    }

    /// Checks a function without type parameters, and returns its number.
    pub(super) fn check_function_body(&mut self, signature: &Signature, body: &[Stmt]) -> usize {
        let result = signature.result.as_ref().map_or(Ty::Void, |ty| self.check_result_type(ty));
        let (context, outer) =
            (self.context, std::mem::replace(&mut self.return_type, result.clone()));
        self.context = Context::Function;
        self.push_scope();
        let params = self.check_params(&signature.params);
        let checked = self.check_stmts(body);
        self.pop_scope();
        self.context = context;
        self.return_type = outer;
        let name = &signature.name;
        if !matches!(result, Ty::Void | Ty::Unknown) && !super::stmt::always_returns(&checked) {
            let shown = self.show(&result);
            self.error(
                name.span,
                format!("Function '{}' can end without returning a {shown}.", name.text),
            );
        }
        let id = self.hir.functions.len();
        self.hir.functions.push(HFunction {
            name: name.text.clone(),
            params,
            result,
            body: Rc::new(checked),
        });
        id
    }

    pub(super) fn check_action(
        &mut self,
        decl: &Decl,
        name: &Name,
        params: &[ast::Param],
        body: &[Stmt],
        global: bool,
    ) {
        let (context, outer) = (self.context, std::mem::replace(&mut self.return_type, Ty::Void));
        self.context = Context::Action;
        self.push_scope();
        let checked_params = self.check_params(params);
        let mut data_seen = false;
        for (param, checked) in params.iter().zip(&checked_params) {
            if checked.dir == Dir::None {
                data_seen = true;
                if self.hir.types.width(&checked.ty).is_none() && checked.ty != Ty::Unknown {
                    self.reporter.unsupported(
                        param.ty.span,
                        "An action parameter without direction that is no scalar",
                    );
                }
            } else if data_seen {
                self.error(
                    param.name.span,
                    "Parameters with a direction come before those of the control plane.",
                );
            }
        }
        let body = Rc::new(self.check_stmts(body));
        self.pop_scope();
        self.context = context;
        self.return_type = outer;
        let annotations = self.check_annotations(&decl.annotations);
        let id = self.hir.actions.len();
        self.hir.actions.push(HAction {
            name: name.text.clone(),
            annotations,
            params: checked_params,
            body,
            global,
            called: false,
            span: name.span,
        });
        self.declare(name, Symbol::Action(id));
    }

    fn check_block(&mut self, decl: &Decl, block: &BlockDecl, body: &ast::BlockBody) {
        if let Some(param) = block.type_params.first() {
            self.error(
                param.span,
                "A parser or control with a body has no type parameters; only its type can have some.",
            );
            return;
        }
        self.context = if block.is_parser { Context::Parser } else { Context::Control };
        self.direct_invocations.clear();
        self.push_scope();
        let params = self.check_params(&block.params);
        let ctor_params = self.check_params(&block.ctor_params);
        self.push_scope();
        let mut locals = Vec::new();
        for local in &body.locals {
            self.check_local(local, &mut locals);
        }
        let states =
            if block.is_parser { self.check_states(&body.states, &block.name) } else { Vec::new() };
        let checked = self.check_stmts(&body.apply);
        self.pop_scope();
        self.pop_scope();
        let mut direct_invocations: Vec<_> =
            self.direct_invocations.drain().map(|(_, instance)| instance).collect();
        direct_invocations.sort_by_key(|instance| instance.id);
        locals.extend(direct_invocations.into_iter().map(HLocal::Instance));
        self.context = Context::Global;
        let annotations = self.check_annotations(&decl.annotations);
        let id = self.hir.blocks.len();
        self.hir.blocks.push(HBlock {
            name: block.name.text.clone(),
            annotations,
            is_parser: block.is_parser,
            params,
            ctor_params,
            locals,
            states,
            body: checked,
        });
        self.hir.types.block_names.push(block.name.text.clone());
        self.declare(&block.name, Symbol::Type(Ty::Block(id)));
    }

    fn check_block_type(&mut self, block: &BlockDecl) {
        let params = self.with_type_params(&block.type_params, |c| c.check_params(&block.params));
        let type_params = block.type_params.iter().map(|name| name.text.clone()).collect();
        let (name, is_parser) = (block.name.text.clone(), block.is_parser);
        let id = self.hir.block_types.len();
        self.hir.types.block_type_names.push(name.clone());
        self.hir.block_types.push(HBlockType { name, is_parser, type_params, params });
        self.declare(&block.name, Symbol::BlockType(id));
    }

    fn check_local(&mut self, decl: &Decl, locals: &mut Vec<HLocal>) {
        match &decl.kind {
            DeclKind::Const { ty, name, value } => self.check_const_decl(ty, name, value),
            DeclKind::Var { ty, name, init } => {
                let var = self.check_var_decl(ty, name, init.as_ref());
                locals.push(HLocal::Var(var));
            }
            DeclKind::Action { name, params, body } => {
                let before = self.hir.actions.len();
                self.check_action(decl, name, params, body, false);
                locals.extend((before..self.hir.actions.len()).map(HLocal::Action));
            }
            DeclKind::Instance { ty, args, name } => {
                if let Some(instance) = self.check_instance(decl, ty, args, name) {
                    locals.push(HLocal::Instance(instance));
                }
            }
            DeclKind::Table { name, properties } => {
                if let Some(table) = self.check_table(decl, name, properties, locals) {
                    locals.push(HLocal::Table(table));
                }
            }
            DeclKind::ValueSet { ty, size, name } => {
                let element = self.check_type(ty);
                let size = self.check_expr_of_type(size, &Ty::Bit(32));
                let id = self.new_id();
                let annotations = self.check_annotations(&decl.annotations);
                let keys = self.value_set_keys(&element, ty.span);
                let index = self.hir.value_sets.len();
                let set = HValueSet { id, name: name.text.clone(), annotations, keys, size };
                self.hir.value_sets.push(set);
                self.declare(name, Symbol::ValueSet(id, index));
                locals.push(HLocal::ValueSet(index));
            }
            _ => self.report_misplaced(decl),
        }
    }

    /// Reports a declaration that is not allowed inside a parser or control.
    fn report_misplaced(&mut self, decl: &Decl) {
        let mut hint = String::new();
        if let DeclKind::Function(Signature { result: Some(ty), .. }, _) = &decl.kind
            && let TypeKind::Named(name, ..) = &ty.kind
            && self.lookup(&name.text).is_none()
        {
            hint = did_you_mean(&name.text, ["action"].into_iter());
        }
        let message = "This declaration must stand outside of parsers and controls.";
        self.error(decl.span, format!("{message}{hint}"));
    }

    pub(super) fn check_var_decl(
        &mut self,
        ty: &ast::Type,
        name: &Name,
        init: Option<&ast::Expr>,
    ) -> HVar {
        let mut checked = self.check_type(ty);
        if matches!(checked, Ty::InfInt | Ty::Str | Ty::Void | Ty::MatchKind | Ty::Infer) {
            let shown = self.show(&checked);
            self.error(ty.span, format!("A variable cannot have the type {shown}; use bit<W>, int<W>, bool, a struct or a header."));
            checked = Ty::Unknown;
        }
        if matches!(checked, Ty::Extern(..) | Ty::Block(_) | Ty::BlockType(..) | Ty::Package(_)) {
            let shown = self.show(&checked);
            self.error(
                ty.span,
                format!(
                    "'{}' needs constructor arguments: '{shown}(...) {};'.",
                    name.text, name.text
                ),
            );
            checked = Ty::Unknown;
        }
        let init = init.map(|e| self.check_expr_of_type(e, &checked));
        let id = self.declare_var(name, checked.clone(), true);
        HVar { id, name: name.text.clone(), ty: checked, init, span: name.span }
    }
}
