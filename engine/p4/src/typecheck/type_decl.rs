//! Types: resolution, and declarations of structs, headers, enums, typedefs and externs.

use std::collections::HashSet;
use std::rc::Rc;

use num_bigint::BigInt;
use serde_json::{Value as Json, json};

use super::state::Checker;
use super::symbol::{ExpectedSymbol, Symbol};
use crate::annotations::Annotations;
use crate::ast::{self, Expr, Name, Signature, StructKind, TypeKind};
use crate::constant_folding;
use crate::hir::HExprKind;
use crate::token::{MAX_VARBIT, MAX_WIDTH};
use crate::types::{EnumDef, ExternDef, FieldDef, FunctionType, ParamType, StructDef, Ty};

/// Maximum number of state words of one struct.
const MAX_SCALARS: u64 = 1 << 18;
const MAX_STACK: u32 = 4096;
/// Annotations that P4Info has in other places.
const CONSUMED: &[&str] =
    &["name", "id", "brief", "description", "match", "pkginfo", "platform_property"];

impl Checker<'_> {
    pub(super) fn check_type(&mut self, ty: &ast::Type) -> Ty {
        match &ty.kind {
            TypeKind::Void => Ty::Void,
            TypeKind::Bool => Ty::Bool,
            TypeKind::Error => Ty::Error,
            TypeKind::MatchKind => Ty::MatchKind,
            TypeKind::Str => Ty::Str,
            TypeKind::DontCare => Ty::Infer,
            TypeKind::Bit(None) => Ty::Bit(1),
            TypeKind::Int(None) => Ty::InfInt,
            TypeKind::Bit(Some(width)) => {
                self.check_width(width, MAX_WIDTH).map_or(Ty::Unknown, Ty::Bit)
            }
            TypeKind::Int(Some(width)) => {
                self.check_width(width, MAX_WIDTH).map_or(Ty::Unknown, Ty::Int)
            }
            TypeKind::Varbit(width) => {
                self.check_width(width, MAX_VARBIT).map_or(Ty::Unknown, Ty::Varbit)
            }
            TypeKind::Tuple(parts) => {
                let checked: Vec<Ty> = parts.iter().map(|part| self.check_type(part)).collect();
                for (part, ty) in parts.iter().zip(&checked) {
                    if matches!(
                        ty,
                        Ty::Extern(..)
                            | Ty::Block(_)
                            | Ty::BlockType(..)
                            | Ty::Package(_)
                            | Ty::Void
                    ) {
                        let shown = self.show(ty);
                        let message = format!("A tuple holds values, and {shown} has none.");
                        self.error(part.span, message);
                        return Ty::Unknown;
                    }
                }
                Ty::Tuple(checked.into())
            }
            TypeKind::List => {
                self.reporter.unsupported(ty.span, "The type 'list'");
                Ty::Unknown
            }
            TypeKind::Stack(element, size) => {
                let element_ty = self.check_type(element);
                let size_span = size.span;
                let Some(size) = self.const_u32(size, "The size of a stack") else {
                    return Ty::Unknown;
                };
                if size == 0 || size > MAX_STACK {
                    self.error(size_span, format!("The size of a stack is 1 to {MAX_STACK}."));
                    return Ty::Unknown;
                }
                let types = &self.hir.types;
                let fits = types.is_header(&element_ty) || types.is_union(&element_ty);
                if element_ty != Ty::Unknown && !fits {
                    let shown = self.show(&element_ty);
                    self.error(
                        ty.span,
                        format!("A stack is made of headers or header unions, not of {shown}."),
                    );
                    return Ty::Unknown;
                }
                Ty::Stack(Rc::new(element_ty), size)
            }
            TypeKind::Named(name, global, args) => {
                self.check_named_type(name, *global, args, ExpectedSymbol::Type)
            }
        }
    }

    /// Result type of a function.
    pub(super) fn check_result_type(&mut self, ty: &ast::Type) -> Ty {
        match &ty.kind {
            TypeKind::Named(name, global, args) => {
                self.check_named_type(name, *global, args, ExpectedSymbol::Result)
            }
            _ => self.check_type(ty),
        }
    }

    fn check_named_type(
        &mut self,
        name: &Name,
        global: bool,
        args: &[ast::Type],
        wanted: ExpectedSymbol,
    ) -> Ty {
        let found = match global {
            true => self.scopes[0].get(&name.text),
            false => self.lookup(&name.text),
        };
        let ty = match found {
            Some(Symbol::GenericStruct(id)) => {
                let id = *id;
                return self.generic_struct(id, name, args);
            }
            Some(Symbol::Type(ty)) => ty.clone(),
            Some(Symbol::BlockType(id)) => Ty::BlockType(*id, Rc::new([])),
            Some(_) => {
                self.error(name.span, format!("'{}' is not a type.", name.text));
                return Ty::Unknown;
            }
            None => {
                self.report_undeclared(name, wanted);
                return Ty::Unknown;
            }
        };
        let args: Vec<Ty> = args.iter().map(|a| self.check_type(a)).collect();
        let expected = match &ty {
            Ty::Extern(id, _) => self.hir.types.externs[*id].type_params.len(),
            Ty::BlockType(id, _) => self.hir.block_types[*id].type_params.len(),
            Ty::Package(id) if !args.is_empty() => self.packages[*id].type_params,
            _ => 0,
        };
        if args.len() != expected {
            let message = format!(
                "Type '{}' takes {expected} type arguments, but {} are given.",
                name.text,
                args.len()
            );
            self.error(name.span, message);
            return Ty::Unknown;
        }
        match ty {
            Ty::Extern(id, _) => Ty::Extern(id, args.into()),
            Ty::BlockType(id, _) => Ty::BlockType(id, args.into()),
            ty => ty,
        }
    }

    fn check_width(&mut self, expr: &Expr, most: u32) -> Option<u32> {
        let width = self.const_u32(expr, "A width")?;
        if width == 0 || width > most {
            self.error(expr.span, format!("A width is 1 to {most} bits, not {width}."));
            return None;
        }
        Some(width)
    }

    /// Value of an expression that must be a constant. Otherwise, reports an error about `what`.
    pub(super) fn const_u32(&mut self, expr: &Expr, what: &str) -> Option<u32> {
        let value = self.check_expr(expr, None);
        match self.hir.types.base(&value.ty) {
            Ty::Unknown => return None,
            Ty::Bit(_) | Ty::Int(_) | Ty::InfInt | Ty::Enum(_) => {}
            _ => {
                let shown = self.show(&value.ty);
                self.error(expr.span, format!("{what} must be a number, not a {shown}."));
                return None;
            }
        }
        match value.as_const().map(u32::try_from) {
            Some(Ok(value)) => Some(value),
            Some(Err(_)) => {
                self.error(expr.span, format!("{what} must be a number from 0 to 4294967295."));
                None
            }
            None => {
                self.error(expr.span, format!("{what} must be a constant that is known here."));
                None
            }
        }
    }

    pub(super) fn check_annotations(&mut self, annotations: &[ast::Annotation]) -> Annotations {
        let mut found = Annotations::default();
        for annotation in annotations {
            match &*annotation.name {
                "name" => match &annotation.string {
                    // Of several, p4c takes the first.
                    Some(name) => found.name = found.name.or(Some(name.clone())),
                    None => self.error(annotation.span, "Expected @name(\"...\")."),
                },
                "id" => {
                    found.id = annotation.exprs.first().and_then(|e| self.const_u32(e, "An id"));
                }
                "tableonly" => found.table_only = true,
                "defaultonly" => found.default_only = true,
                "field_list" => {
                    for expr in &annotation.exprs {
                        found.field_lists.extend(self.const_u32(expr, "A field list index"));
                    }
                }
                "controller_header" => found.controller_header = annotation.string.clone(),
                "p4runtime_translation" => found.translation = annotation.translation.clone(),
                "hidden" => found.hidden = true,
                "match" => {
                    found.match_kind = annotation
                        .text
                        .strip_prefix("@match(")
                        .map(|kind| kind.trim_end_matches(')').into());
                }
                _ => {}
            }
            let value = |c: &mut Self, expr: &Expr| {
                let value = c.check_expr(expr, None);
                match (&value.kind, &value.ty) {
                    (HExprKind::Str(text), _) => json!({ "stringValue": &**text }),
                    (HExprKind::Const(value), Ty::Bool) => {
                        json!({ "boolValue": *value != BigInt::ZERO })
                    }
                    (HExprKind::Const(value), _) => json!({ "int64Value": value.to_string() }),
                    (HExprKind::Error, _) => json!({}),
                    _ => {
                        c.error(expr.span, "The value of an annotation is a constant.");
                        json!({})
                    }
                }
            };
            let mut pairs = Vec::new();
            for (i, (key, expr)) in annotation.pairs.iter().enumerate() {
                if annotation.pairs[..i].iter().any(|(before, _)| before.text == key.text) {
                    let message = format!("This annotation has two values '{}'.", key.text);
                    self.error(key.span, message);
                }
                pairs.push((key.text.clone(), value(self, expr)));
            }
            if annotation.structured {
                let name = &*annotation.name;
                found.structured.push(match pairs.is_empty() {
                    true => {
                        let values: Vec<Json> =
                            annotation.exprs.iter().map(|expr| value(self, expr)).collect();
                        json!({ "name": name, "expressionList": { "expressions": values } })
                    }
                    false => {
                        let pairs: Vec<Json> = pairs
                            .iter()
                            .map(|(key, value)| json!({ "key": &**key, "value": value }))
                            .collect();
                        json!({ "name": name, "kvPairList": { "kvPairs": pairs } })
                    }
                });
                continue;
            }
            if !pairs.is_empty() {
                found.pairs.push((annotation.name.clone(), pairs));
            }
            if !CONSUMED.contains(&&*annotation.name) {
                found.others.push(annotation.text.clone());
            }
        }
        found
    }

    pub(super) fn check_struct_decl(
        &mut self,
        decl: &ast::Decl,
        kind: StructKind,
        name: &Name,
        fields: &[ast::Field],
    ) {
        let mut checked: Vec<FieldDef> = Vec::new();
        let mut scalars = 1u64;
        let mut varbits = 0;
        for field in fields {
            let ty = self.check_type(&field.ty);
            let annotations = self.check_annotations(&field.annotations);
            if checked.iter().any(|f| f.name == field.name.text) {
                let message = format!("Field '{}' is declared twice.", field.name.text);
                self.error(field.name.span, message);
                continue;
            }
            if matches!(ty, Ty::Varbit(_)) && kind == StructKind::Header {
                varbits += 1;
            }
            if !self.can_contain(kind, &ty) {
                let shown = self.show(&ty);
                let (what, expected) = match kind {
                    StructKind::Header => (
                        "header",
                        "a bit<W>, int<W>, varbit<W>, bool, an enum with an underlying type, or a \
                         struct of those",
                    ),
                    StructKind::Union => ("header_union", "a header"),
                    StructKind::Struct => ("struct", "a type whose values a variable can have"),
                };
                self.error(
                    field.ty.span,
                    format!("A {what} cannot have a field of type {shown}: it must be {expected}."),
                );
            }
            scalars = scalars.saturating_add(self.hir.types.scalars(&ty));
            checked.push(FieldDef { name: field.name.text.clone(), ty, annotations });
        }
        if varbits > 1 {
            self.error(name.span, "A header can have one varbit field, not more.");
        }
        if kind == StructKind::Union && checked.is_empty() {
            self.error(name.span, format!("Header union '{}' has no header.", name.text));
        }
        if scalars > MAX_SCALARS {
            self.error(name.span, format!("'{}' is too large.", name.text));
            scalars = 1;
            checked.clear();
        }
        let annotations = self.check_annotations(&decl.annotations);
        let id = self.hir.types.structs.len();
        let text = name.text.clone();
        let def =
            StructDef { name: text, kind, fields: checked, annotations, scalars, span: name.span };
        self.hir.types.structs.push(def);
        self.declare(name, Symbol::Type(Ty::Struct(id)));
    }

    fn can_contain(&self, kind: StructKind, ty: &Ty) -> bool {
        match (kind, self.hir.types.base(ty)) {
            (_, Ty::Unknown | Ty::Var(_)) => true,
            (StructKind::Union, _) => self.hir.types.is_header(ty),
            (_, Ty::Bit(_) | Ty::Int(_) | Ty::Bool | Ty::Varbit(_)) => true,
            (StructKind::Header, Ty::Enum(id)) => self.hir.types.enums[id].repr.is_some(),
            (StructKind::Header, Ty::Struct(id)) => {
                let def = &self.hir.types.structs[id];
                def.kind == StructKind::Struct
                    && def.fields.iter().all(|f| {
                        !matches!(f.ty, Ty::Varbit(_))
                            && self.can_contain(StructKind::Header, &f.ty)
                    })
            }
            (StructKind::Header, _) => false,
            (_, Ty::Enum(_) | Ty::Error | Ty::Stack(..) | Ty::Tuple(_) | Ty::Struct(_)) => true,
            _ => false,
        }
    }

    pub(super) fn check_enum_decl(
        &mut self,
        name: &Name,
        repr: Option<&ast::Type>,
        members: &[(Name, Option<Expr>)],
    ) {
        let repr = repr.map(|ty| (self.check_type(ty), ty.span));
        if let Some((ty, span)) = &repr
            && !matches!(ty, Ty::Bit(_) | Ty::Int(_) | Ty::Unknown)
        {
            self.error(*span, "The underlying type of an enum is bit<W> or int<W>.");
        }
        let repr = repr.map(|(ty, _)| ty);
        let mut checked: Vec<(Rc<str>, BigInt)> = Vec::new();
        let mut seen = HashSet::new();
        for (index, (member, value)) in members.iter().enumerate() {
            if !seen.insert(member.text.clone()) {
                self.error(member.span, format!("Member '{}' is declared twice.", member.text));
                continue;
            }
            let number = match (&repr, value) {
                (Some(ty), Some(expr)) => {
                    let value = self.check_expr(expr, Some(ty));
                    if let Some(number) = value.as_const()
                        && constant_folding::wrap(number, self.int_format(ty)) != *number
                    {
                        let (name, shown) = (&member.text, self.show(ty));
                        let message =
                            format!("Member '{name}' is {number}, which does not fit in {shown}.");
                        self.error(expr.span, message);
                        continue;
                    }
                    let value = self.convert(value, ty);
                    match value.as_const() {
                        Some(value) => value.clone(),
                        None => {
                            if value.ty != Ty::Unknown {
                                self.error(expr.span, "The value of a member must be a constant.");
                            }
                            BigInt::from(index)
                        }
                    }
                }
                (Some(_), None) => {
                    self.error(
                        member.span,
                        format!("Member '{}' needs a value: '{} = ...'.", member.text, member.text),
                    );
                    BigInt::from(index)
                }
                (None, Some(expr)) => {
                    self.error(
                        expr.span,
                        "Only an enum with an underlying type has values: 'enum bit<8> ...'.",
                    );
                    BigInt::from(index)
                }
                (None, None) => BigInt::from(index),
            };
            checked.push((member.text.clone(), number));
        }
        let id = self.hir.types.enums.len();
        self.hir.types.enums.push(EnumDef { name: name.text.clone(), repr, members: checked });
        self.declare(name, Symbol::Type(Ty::Enum(id)));
    }

    /// Runs `f` with type parameters in scope.
    pub(super) fn with_type_params<T>(
        &mut self,
        params: &[Name],
        f: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.push_scope();
        for name in params {
            self.declare(name, Symbol::Type(Ty::Var(name.text.clone())));
        }
        let checked = f(self);
        self.pop_scope();
        checked
    }

    pub(super) fn check_signature(&mut self, signature: &Signature) -> FunctionType {
        self.with_type_params(&signature.type_params, |c| FunctionType {
            name: signature.name.text.clone(),
            type_params: signature.type_params.iter().map(|n| n.text.clone()).collect(),
            params: c.check_param_types(&signature.params),
            result: signature.result.as_ref().map_or(Ty::Void, |ty| c.check_result_type(ty)),
        })
    }

    /// Type of a parameter; [`Ty::Unknown`] if there can be no such parameter.
    pub(super) fn check_param_type(&mut self, param: &ast::Param) -> Ty {
        let ty = self.check_type(&param.ty);
        let writable = matches!(param.dir, ast::Dir::Out | ast::Dir::InOut);
        if let (true, Some(default)) = (writable, &param.default) {
            let message = format!(
                "Parameter '{}' is written, so it has no default value: its argument must be a \
                 variable.",
                param.name.text
            );
            self.error(default.span, message);
        }
        let message = match &ty {
            Ty::Void | Ty::MatchKind | Ty::Package(_) => {
                format!("A parameter cannot have the type {}.", self.show(&ty))
            }
            Ty::InfInt | Ty::Str if param.dir != ast::Dir::None => format!(
                "A parameter of type {} is a constant, and has no direction.",
                self.show(&ty)
            ),
            Ty::Extern(..) if param.dir != ast::Dir::None => {
                format!(
                    "A parameter of type {} is an instance, and has no direction.",
                    self.show(&ty)
                )
            }
            _ => return ty,
        };
        self.error(param.ty.span, message);
        Ty::Unknown
    }

    pub(super) fn check_param_types(&mut self, params: &[ast::Param]) -> Vec<ParamType> {
        let mut checked = Vec::new();
        for param in params {
            let ty = self.check_param_type(param);
            checked.push(ParamType { name: param.name.text.clone(), dir: param.dir, ty });
        }
        checked
    }

    pub(super) fn check_extern_decl(
        &mut self,
        name: &Name,
        type_params: &[Name],
        methods: &[Signature],
    ) {
        let id = self.hir.types.externs.len();
        let params: Vec<Rc<str>> = type_params.iter().map(|n| n.text.clone()).collect();
        let empty = ExternDef {
            name: name.text.clone(),
            type_params: params,
            constructors: Vec::new(),
            methods: Vec::new(),
        };
        self.hir.types.externs.push(empty);
        self.declare(name, Symbol::Type(Ty::Extern(id, Rc::new([]))));
        let (mut constructors, mut checked) = (Vec::new(), Vec::new());
        self.with_type_params(type_params, |c| {
            for method in methods {
                let sig = c.check_signature(method);
                match method.result {
                    None => constructors.push(sig),
                    Some(_) => checked.push(sig),
                }
            }
        });
        self.hir.types.externs[id].constructors = constructors;
        self.hir.types.externs[id].methods = checked;
    }
}
