//! Checks instantiations: extern objects, parsers, controls and the package `main`.

use std::collections::HashMap;
use std::rc::Rc;

use netkv_ir::Span;

use super::state::{Checker, Context};
use super::symbol::{ExpectedSymbol, Symbol};
use super::type_inference::{Bindings, substitute};
use crate::annotations::Annotations;
use crate::ast::{self, Arg, Decl, Dir, ExprKind, Name};
use crate::hir::{DeclId, HExpr, HExprKind, HInstance, InstanceKind};
use crate::types::Ty;

/// Block of the pipeline: its name, whether it is a parser, and its parameters.
type PipelineBlock = (&'static str, bool, &'static [(&'static str, Dir)]);

/// The blocks of V1Switch in order. `H` and `M` are the program's types of headers and metadata.
const PIPELINE: &[PipelineBlock] = &[
    (
        "parser",
        true,
        &[
            ("packet_in", Dir::None),
            ("H", Dir::Out),
            ("M", Dir::InOut),
            ("standard_metadata_t", Dir::InOut),
        ],
    ),
    ("checksum verification", false, &[("H", Dir::InOut), ("M", Dir::InOut)]),
    (
        "ingress",
        false,
        &[("H", Dir::InOut), ("M", Dir::InOut), ("standard_metadata_t", Dir::InOut)],
    ),
    ("egress", false, &[("H", Dir::InOut), ("M", Dir::InOut), ("standard_metadata_t", Dir::InOut)]),
    ("checksum computation", false, &[("H", Dir::InOut), ("M", Dir::InOut)]),
    ("deparser", false, &[("packet_out", Dir::None), ("H", Dir::In)]),
];

impl Checker<'_> {
    /// `Type(args) name;`
    pub(super) fn check_instance(
        &mut self,
        decl: &Decl,
        ty: &ast::Type,
        args: &[Arg],
        name: &Name,
    ) -> Option<HInstance> {
        let annotations = self.check_annotations(&decl.annotations);
        let checked = self.check_type(ty);
        if let Ty::Package(id) = checked {
            self.hir.main_annotations = annotations;
            let types: Vec<Ty> = match &ty.kind {
                ast::TypeKind::Named(_, _, types) => {
                    types.iter().map(|ty| self.check_type(ty)).collect()
                }
                _ => Vec::new(),
            };
            self.check_package(id, &types, args, name);
            return None;
        }
        let instance = self.make_instance(&checked, args, name.text.clone(), annotations, ty.span);
        let id = instance.as_ref().map_or_else(|| self.new_id(), |i| i.id);
        let checked = if instance.is_some() { checked } else { Ty::Unknown };
        self.declare(name, Symbol::Var(id, checked));
        instance
    }

    pub(super) fn make_instance(
        &mut self,
        ty: &Ty,
        args: &[Arg],
        name: Rc<str>,
        annotations: Annotations,
        span: Span,
    ) -> Option<HInstance> {
        let (kind, args) = match ty {
            Ty::Unknown => return None,
            Ty::Block(id) => {
                let is_parser = self.hir.blocks[*id].is_parser;
                let message = match self.context {
                    Context::Parser if !is_parser => {
                        "A parser cannot have an instance of a control."
                    }
                    Context::Control if is_parser => {
                        "A control cannot have an instance of a parser."
                    }
                    _ => "",
                };
                if !message.is_empty() {
                    self.error(span, message);
                    return None;
                }
                let params: Vec<_> = self.hir.blocks[*id]
                    .ctor_params
                    .iter()
                    .map(|p| (p.name.clone(), p.ty.clone(), p.default.clone()))
                    .collect();
                (InstanceKind::Block(*id), self.check_ctor_args(&params, args, span))
            }
            Ty::Extern(id, type_args) => {
                let def = &self.hir.types.externs[*id];
                let extern_name = def.name.clone();
                let found = def.constructors.iter().find(|c| c.params.len() == args.len()).cloned();
                let counts: Vec<String> =
                    def.constructors.iter().map(|c| c.params.len().to_string()).collect();
                let Some(constructor) = found else {
                    let message = match counts.is_empty() {
                        true => format!("'{extern_name}' cannot be instantiated."),
                        false => format!(
                            "The constructor of '{extern_name}' takes {} arguments, but {} are given.",
                            counts.join(" or "),
                            args.len()
                        ),
                    };
                    self.error(span, message);
                    return None;
                };
                let params: Vec<_> = constructor
                    .params
                    .iter()
                    .map(|p| (p.name.clone(), p.ty.clone(), None))
                    .collect();
                let checked = self.check_ctor_args(&params, args, span);
                (InstanceKind::Extern(extern_name, type_args.to_vec()), checked)
            }
            _ => {
                let shown = self.show(ty);
                self.error(
                    span,
                    format!("{shown} cannot be instantiated; externs, parsers and controls can."),
                );
                return None;
            }
        };
        Some(HInstance { id: self.new_id(), name, annotations, kind, args: args?, span })
    }

    fn check_ctor_args(
        &mut self,
        params: &[(Rc<str>, Ty, Option<HExpr>)],
        args: &[Arg],
        span: Span,
    ) -> Option<Vec<HExpr>> {
        let names: Vec<Rc<str>> = params.iter().map(|p| p.0.clone()).collect();
        let optional: Vec<bool> = params.iter().map(|p| p.2.is_some()).collect();
        let order = self.match_args(&names, &optional, args, span, "This constructor")?;
        let mut checked = Vec::new();
        for ((_, ty, default), arg) in params.iter().zip(order) {
            checked.push(match (arg, default) {
                (Some(i), _) => self.check_ctor_arg(&args[i].expr, ty),
                (None, Some(default)) => default.clone(),
                (None, None) => HExpr::error(span),
            });
        }
        Some(checked)
    }

    /// A constructor argument: a constant, the name of an instance, or an instance created here.
    fn check_ctor_arg(&mut self, expr: &ast::Expr, ty: &Ty) -> HExpr {
        if !matches!(ty, Ty::Block(_) | Ty::BlockType(..) | Ty::Extern(..)) {
            let value = self.check_expr_of_type(expr, ty);
            if let Some(id) = run_time_value(&value, &self.parameters) {
                let message = "The argument of a constructor must be a constant; this value is \
                               only known when a packet is processed.";
                self.error(id, message);
            }
            return value;
        }
        let value = match self.instance_expr(expr) {
            Some(Some(instance)) => {
                let ty = match &instance.kind {
                    InstanceKind::Block(id) => Ty::Block(*id),
                    InstanceKind::Extern(..) => ty.clone(),
                };
                HExpr { kind: HExprKind::Instance(Box::new(instance)), ty, span: expr.span }
            }
            Some(None) => HExpr::error(expr.span),
            None => self.check_expr(expr, None),
        };
        let (Ty::BlockType(wanted, type_args), Ty::Block(found)) = (ty, &value.ty) else {
            return self.convert(value, ty);
        };
        let (wanted, found) = (&self.hir.block_types[*wanted], &self.hir.blocks[*found]);
        let bindings: Bindings =
            wanted.type_params.iter().cloned().zip(type_args.iter().cloned()).collect();
        let same = wanted.is_parser == found.is_parser
            && wanted.params.len() == found.params.len()
            && wanted.params.iter().zip(&found.params).all(|(wanted, found)| {
                wanted.dir == found.dir && substitute(&wanted.ty, &bindings) == found.ty
            });
        if !same {
            let message = format!(
                "'{}' has other parameters than the type '{}' that is expected here.",
                found.name, wanted.name
            );
            return self.error_expr(expr.span, message);
        }
        value
    }

    /// The instance that `Type(args)` creates. `None`: the expression is something else.
    fn instance_expr(&mut self, expr: &ast::Expr) -> Option<Option<HInstance>> {
        let ExprKind::Call(callee, types, args) = &expr.kind else { return None };
        let ExprKind::Ident(name) = &callee.kind else { return None };
        let Some(Symbol::Type(found)) = self.lookup(&name.text).cloned() else { return None };
        if !matches!(found, Ty::Block(_) | Ty::Extern(..)) {
            return None;
        }
        let types = types.to_vec();
        let kind = ast::TypeKind::Named(name.clone(), false, types);
        let ty = self.check_type(&ast::Type { kind, span: name.span });
        let text = name.text.clone();
        Some(self.make_instance(&ty, args, text, Annotations::default(), expr.span))
    }

    fn check_package(&mut self, package: usize, types: &[Ty], args: &[Arg], name: &Name) {
        let package_name = self.packages[package].name.clone();
        if &*package_name != "V1Switch" {
            self.reporter
                .unsupported(name.span, &format!("Package '{package_name}' (V1Switch is)"));
            self.main_seen = true;
            return;
        }
        if &*name.text != "main" {
            self.error(name.span, "The package instance must be called 'main'.");
        }
        if self.main_seen {
            self.error(name.span, "There is a 'main' already.");
            return;
        }
        self.main_seen = true;
        self.hir.main_span = name.span;
        let names: Vec<Rc<str>> = ["p", "vr", "ig", "eg", "ck", "dep"].map(Rc::from).to_vec();
        let Some(order) = self.match_args(&names, &[false; 6], args, name.span, "V1Switch") else {
            return;
        };
        let mut shared: [Option<Ty>; 2] = [None, None];
        for (part, index) in PIPELINE.iter().zip(order) {
            let Some(index) = index else { continue };
            let arg = &args[index].expr;
            let Some(instance) = self.find_pipeline_block(arg) else { continue };
            if let InstanceKind::Block(block) = instance.kind {
                self.check_pipeline_block(part, block, arg.span, &mut shared);
            }
            self.hir.main.push(instance);
        }
        for (given, found) in types.iter().zip(shared.iter().flatten()) {
            if !matches!(given, Ty::Infer | Ty::Unknown) && given != found {
                let (given, found) = (self.show(given), self.show(found));
                let message =
                    format!("V1Switch has {given} as a type argument, but its parser has {found}.");
                self.error(name.span, message);
            }
        }
    }

    /// Instance that an argument of V1Switch denotes: `Type()`, or the name of an instance.
    fn find_pipeline_block(&mut self, arg: &ast::Expr) -> Option<HInstance> {
        match &arg.kind {
            ExprKind::Call(callee, _, args) => {
                if let ExprKind::Ident(name) = &callee.kind {
                    match self.lookup(&name.text).cloned() {
                        Some(Symbol::Type(ty @ (Ty::Block(_) | Ty::Unknown))) => {
                            let text = name.text.clone();
                            return self.make_instance(
                                &ty,
                                args,
                                text,
                                Annotations::default(),
                                arg.span,
                            );
                        }
                        None => {
                            self.report_undeclared(name, ExpectedSymbol::Block);
                            return None;
                        }
                        _ => {}
                    }
                }
            }
            ExprKind::Ident(name) => {
                if let Some(Symbol::Var(id, _)) = self.lookup(&name.text) {
                    let id = *id;
                    if let Some(found) = self.hir.instances.iter().find(|i| i.id == id) {
                        return Some(found.clone());
                    }
                }
            }
            _ => {}
        }
        self.error(arg.span, "Expected an instance of a parser or control, such as 'MyIngress()'.");
        None
    }

    fn check_pipeline_block(
        &mut self,
        (what, is_parser, expected): &PipelineBlock,
        block: usize,
        span: Span,
        shared: &mut [Option<Ty>; 2],
    ) {
        let found = &self.hir.blocks[block];
        let name = found.name.clone();
        let params: Vec<(Ty, Dir, Rc<str>)> =
            found.params.iter().map(|p| (p.ty.clone(), p.dir, p.name.clone())).collect();
        if found.is_parser != *is_parser {
            let kind = if *is_parser { "parser" } else { "control" };
            return self.error(span, format!("The {what} of V1Switch must be a {kind}."));
        }
        if params.len() != expected.len() {
            let message = format!(
                "The {what} of V1Switch has {} parameters, but '{name}' has {}.",
                expected.len(),
                params.len()
            );
            return self.error(span, message);
        }
        for ((ty, dir, param), (expected, expected_dir)) in params.iter().zip(expected.iter()) {
            if dir != expected_dir {
                let direction = match expected_dir {
                    Dir::None => "no direction",
                    Dir::In => "the direction 'in'",
                    Dir::Out => "the direction 'out'",
                    Dir::InOut => "the direction 'inout'",
                };
                self.error(span, format!("Parameter '{param}' of '{name}' must have {direction}."));
            }
            let slot = match *expected {
                "H" => Some(0),
                "M" => Some(1),
                _ => None,
            };
            match slot {
                Some(slot) => match &shared[slot] {
                    None => shared[slot] = Some(ty.clone()),
                    Some(first) if first != ty && *ty != Ty::Unknown && *first != Ty::Unknown => {
                        let (first, shown) = (self.show(&first.clone()), self.show(ty));
                        self.error(span, format!("Parameter '{param}' of '{name}' is a {shown}, but the parser has a {first} there."));
                    }
                    Some(_) => {}
                },
                None if self.show(ty) != *expected => {
                    let shown = self.show(ty);
                    self.error(
                        span,
                        format!(
                            "Parameter '{param}' of '{name}' must be a {expected}, not a {shown}."
                        ),
                    );
                }
                None => {}
            }
            let is_struct = match ty {
                Ty::Struct(id) => self.hir.types.structs[*id].kind == ast::StructKind::Struct,
                ty => *ty == Ty::Unknown,
            };
            if slot.is_some() && !is_struct {
                let shown = self.show(ty);
                self.error(
                    span,
                    format!("Parameter '{param}' of '{name}' must be a struct, not a {shown}."),
                );
            }
        }
    }
}

/// Position of a part of the value that is only known when a packet is processed.
fn run_time_value(value: &HExpr, parameters: &HashMap<DeclId, Dir>) -> Option<Span> {
    match &value.kind {
        HExprKind::Var(id) => {
            let known = parameters.get(id).is_none_or(|dir| *dir == Dir::None);
            (!known).then_some(value.span)
        }
        kind => kind.operands().into_iter().find_map(|part| run_time_value(part, parameters)),
    }
}
