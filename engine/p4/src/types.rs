//! Types after name resolution.

use std::rc::Rc;

use crate::ast::{Dir, StructKind};
use crate::hir::Annotations;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ty {
    /// Of something wrong that is reported already; fits everywhere.
    Unknown,
    Void,
    Bool,
    Bit(u32),
    Int(u32),
    /// `int`: only constants have it.
    InfInt,
    Varbit(u32),
    Str,
    Error,
    MatchKind,
    Enum(usize),
    /// Struct, header or header union.
    Struct(usize),
    Stack(Rc<Ty>, u32),
    /// A tuple type, and the type of `{ a, b }`.
    Tuple(Rc<[Ty]>),
    /// The type of `{ x = a, y = b }` before it becomes a struct.
    Record(Rc<[(Rc<str>, Ty)]>),
    /// The type of `{#}` before it becomes a header.
    Invalid,
    /// `type T N`.
    New(usize),
    Extern(usize, Rc<[Ty]>),
    /// A parser or control of the program.
    Block(usize),
    Package(usize),
    /// A type parameter.
    Var(Rc<str>),
    /// What `table.apply()` gives.
    Applied,
    /// `_` as a type argument: to be inferred.
    Infer,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldDef {
    pub name: Rc<str>,
    pub ty: Ty,
    pub annotations: Annotations,
}

#[derive(Debug, Clone)]
pub(crate) struct StructDef {
    pub name: Rc<str>,
    pub kind: StructKind,
    pub fields: Vec<FieldDef>,
    pub annotations: Annotations,
    /// Number of scalars in it, stacks counted in full.
    pub scalars: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct EnumDef {
    pub name: Rc<str>,
    /// Underlying type; plain enums have none.
    pub repr: Option<Ty>,
    pub members: Vec<(Rc<str>, num_bigint::BigInt)>,
}

#[derive(Debug, Clone)]
pub(crate) struct SigParam {
    pub name: Rc<str>,
    pub dir: Dir,
    pub ty: Ty,
}

#[derive(Debug, Clone)]
pub(crate) struct Sig {
    pub name: Rc<str>,
    pub type_params: Vec<Rc<str>>,
    pub params: Vec<SigParam>,
    pub result: Ty,
}

#[derive(Debug, Clone)]
pub(crate) struct ExternDef {
    pub name: Rc<str>,
    pub type_params: Vec<Rc<str>>,
    pub constructors: Vec<Sig>,
    pub methods: Vec<Sig>,
}

/// A package, or a parser or control type: what it is for is settled by its name.
#[derive(Debug, Clone)]
pub(crate) struct BlockType {
    pub name: Rc<str>,
    pub type_params: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Types {
    pub structs: Vec<StructDef>,
    pub enums: Vec<EnumDef>,
    pub news: Vec<(Rc<str>, Ty)>,
    pub externs: Vec<ExternDef>,
    /// Names of the program's parsers and controls, for messages.
    pub block_names: Vec<Rc<str>>,
    pub errors: Vec<Rc<str>>,
}

/// Width of an error value.
pub(crate) const ERROR_WIDTH: u32 = 16;
/// Width of an enum without underlying type.
pub(crate) const ENUM_WIDTH: u32 = 32;

impl Types {
    /// The type without `type` wrappers.
    pub fn base(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::New(id) => self.base(&self.news[*id].1.clone()),
            _ => ty.clone(),
        }
    }

    /// Width of a scalar; nothing else has one.
    pub fn width(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Bool => Some(1),
            Ty::Bit(w) | Ty::Int(w) => Some(*w),
            Ty::Error => Some(ERROR_WIDTH),
            Ty::Enum(id) => match &self.enums[*id].repr {
                Some(repr) => self.width(repr),
                None => Some(ENUM_WIDTH),
            },
            Ty::New(id) => self.width(&self.news[*id].1),
            _ => None,
        }
    }

    pub fn is_signed(&self, ty: &Ty) -> bool {
        match self.base(ty) {
            Ty::Int(_) => true,
            Ty::Enum(id) => matches!(self.enums[id].repr, Some(Ty::Int(_))),
            _ => false,
        }
    }

    pub fn is_header(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Struct(id) if self.structs[*id].kind == StructKind::Header)
    }

    /// Least and greatest size in bits.
    pub fn size(&self, ty: &Ty) -> Option<(u64, u64)> {
        if let Some(width) = self.width(ty) {
            return Some((u64::from(width), u64::from(width)));
        }
        match self.base(ty) {
            Ty::Varbit(max) => Some((0, u64::from(max))),
            Ty::Struct(id) => {
                let mut sum = (0, 0);
                for field in &self.structs[id].fields {
                    let (low, high) = self.size(&field.ty)?;
                    sum = (sum.0 + low, sum.1 + high);
                }
                Some(sum)
            }
            Ty::Stack(element, size) => {
                let (low, high) = self.size(&element)?;
                Some((low * u64::from(size), high * u64::from(size)))
            }
            Ty::Tuple(parts) => {
                let mut sum = (0, 0);
                for part in parts.iter() {
                    let (low, high) = self.size(part)?;
                    sum = (sum.0 + low, sum.1 + high);
                }
                Some(sum)
            }
            _ => None,
        }
    }

    /// Number of scalars that a value takes; huge types are refused by it.
    pub fn scalars(&self, ty: &Ty) -> u64 {
        match ty {
            Ty::Struct(id) => self.structs[*id].scalars,
            Ty::Stack(element, size) => self.scalars(element).saturating_mul(u64::from(*size)),
            Ty::Tuple(parts) => {
                parts.iter().fold(0u64, |n, part| n.saturating_add(self.scalars(part)))
            }
            Ty::New(id) => self.scalars(&self.news[*id].1),
            Ty::Bit(w) | Ty::Int(w) | Ty::Varbit(w) => u64::from(w.div_ceil(64)),
            _ => 1,
        }
    }

    /// As the source would name it.
    pub fn show(&self, ty: &Ty) -> String {
        let list = |parts: &[Ty]| parts.iter().map(|t| self.show(t)).collect::<Vec<_>>().join(", ");
        match ty {
            Ty::Unknown => "unknown".into(),
            Ty::Void => "void".into(),
            Ty::Bool => "bool".into(),
            Ty::Bit(w) => format!("bit<{w}>"),
            Ty::Int(w) => format!("int<{w}>"),
            Ty::InfInt => "int".into(),
            Ty::Varbit(w) => format!("varbit<{w}>"),
            Ty::Str => "string".into(),
            Ty::Error => "error".into(),
            Ty::MatchKind => "match_kind".into(),
            Ty::Enum(id) => self.enums[*id].name.to_string(),
            Ty::Struct(id) => self.structs[*id].name.to_string(),
            Ty::Stack(element, size) => format!("{}[{size}]", self.show(element)),
            Ty::Tuple(parts) => format!("tuple<{}>", list(parts)),
            Ty::Record(fields) => {
                let names: Vec<&str> = fields.iter().map(|(n, _)| &**n).collect();
                format!("a list of the fields {}", names.join(", "))
            }
            Ty::Invalid => "an invalid header".into(),
            Ty::New(id) => self.news[*id].0.to_string(),
            Ty::Extern(id, args) if args.is_empty() => self.externs[*id].name.to_string(),
            Ty::Extern(id, args) => format!("{}<{}>", self.externs[*id].name, list(args)),
            Ty::Block(id) => self.block_names[*id].to_string(),
            Ty::Package(_) => "package".into(),
            Ty::Var(name) => name.to_string(),
            Ty::Applied => "the result of a table".into(),
            Ty::Infer => "_".into(),
        }
    }
}
