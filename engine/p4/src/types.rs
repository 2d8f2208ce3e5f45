//! Types after name resolution, and their sizes.

use std::rc::Rc;

use netkv_ir::Span;

use crate::annotations::Annotations;
use crate::ast::{Dir, StructKind};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ty {
    /// Type of code with an error, which is already reported. Compatible with every type.
    Unknown,
    Void,
    Bool,
    Bit(u32),
    Int(u32),
    /// `int`: arbitrary precision, for constants only.
    InfInt,
    Varbit(u32),
    Str,
    Error,
    MatchKind,
    Enum(usize),
    /// Struct, header or header union.
    Struct(usize),
    Stack(Rc<Ty>, u32),
    /// A tuple type, or the type of `{ a, b }`.
    Tuple(Rc<[Ty]>),
    /// The type of `{ x = a, y = b }` before its conversion to a struct.
    Record(Rc<[(Rc<str>, Ty)]>),
    /// The type of `{#}` before its conversion to a header.
    InvalidHeader,
    /// `type T N`.
    NewType(usize),
    Extern(usize, Rc<[Ty]>),
    /// A parser or control of the program.
    Block(usize),
    /// A parser or control type without body, with its type arguments.
    BlockType(usize, Rc<[Ty]>),
    Package(usize),
    /// A type parameter.
    Var(Rc<str>),
    /// The result of `table.apply()`.
    ApplyResult,
    /// `_` as a type argument, which is inferred.
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
    /// Number of 64-bit words of its scalars, including all stack elements.
    pub scalars: u64,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct EnumDef {
    pub name: Rc<str>,
    /// Underlying type; `None` for an enum without one.
    pub repr: Option<Ty>,
    pub members: Vec<(Rc<str>, num_bigint::BigInt)>,
}

#[derive(Debug, Clone)]
pub(crate) struct ParamType {
    pub name: Rc<str>,
    pub dir: Dir,
    pub ty: Ty,
}

#[derive(Debug, Clone)]
pub(crate) struct FunctionType {
    pub name: Rc<str>,
    pub type_params: Vec<Rc<str>>,
    pub params: Vec<ParamType>,
    pub result: Ty,
}

#[derive(Debug, Clone)]
pub(crate) struct ExternDef {
    pub name: Rc<str>,
    pub type_params: Vec<Rc<str>>,
    pub constructors: Vec<FunctionType>,
    pub methods: Vec<FunctionType>,
}

/// A package declaration. The checker knows V1Switch by its name.
#[derive(Debug, Clone)]
pub(crate) struct PackageType {
    pub name: Rc<str>,
    pub type_params: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Types {
    pub structs: Vec<StructDef>,
    pub enums: Vec<EnumDef>,
    pub new_types: Vec<(Rc<str>, Ty)>,
    /// Annotations of each new type.
    pub new_type_annotations: Vec<Annotations>,
    pub externs: Vec<ExternDef>,
    /// Names of the program's parsers and controls, for messages.
    pub block_names: Vec<Rc<str>>,
    /// Names of parser and control types.
    pub block_type_names: Vec<Rc<str>>,
    pub errors: Vec<Rc<str>>,
}

/// Width of an error value, in bits.
pub(crate) const ERROR_WIDTH: u32 = 16;
/// Width of an enum without underlying type, in bits.
pub(crate) const ENUM_WIDTH: u32 = 32;

/// Width in which the lowering computes with parameters of type `int`, whose values it knows.
pub(crate) const INT_WIDTH: u32 = 256;

impl Types {
    /// The type that a `type` declaration is based on. Other types are returned unchanged.
    pub fn base(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::NewType(id) => self.base(&self.new_types[*id].1.clone()),
            _ => ty.clone(),
        }
    }

    /// Width of a scalar in bits. Other types have none.
    pub fn width(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Bool => Some(1),
            Ty::Bit(w) | Ty::Int(w) => Some(*w),
            Ty::Error => Some(ERROR_WIDTH),
            Ty::Enum(id) => match &self.enums[*id].repr {
                Some(repr) => self.width(repr),
                None => Some(ENUM_WIDTH),
            },
            Ty::NewType(id) => self.width(&self.new_types[*id].1),
            _ => None,
        }
    }

    pub fn is_signed(&self, ty: &Ty) -> bool {
        match self.base(ty) {
            Ty::Int(_) | Ty::InfInt => true,
            Ty::Enum(id) => matches!(self.enums[id].repr, Some(Ty::Int(_))),
            _ => false,
        }
    }

    pub fn is_header(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Struct(id) if self.structs[*id].kind == StructKind::Header)
    }

    pub fn is_union(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Struct(id) if self.structs[*id].kind == StructKind::Union)
    }

    /// Smallest and largest size in bits. Types without a width of their own have none.
    pub fn size(&self, ty: &Ty) -> Option<(u64, u64)> {
        match self.base(ty) {
            Ty::Error => None,
            Ty::Enum(id) => self.size(self.enums[id].repr.as_ref()?),
            scalar @ (Ty::Bool | Ty::Bit(_) | Ty::Int(_)) => {
                let width = u64::from(self.width(&scalar)?);
                Some((width, width))
            }
            Ty::Varbit(max) => Some((0, u64::from(max))),
            // As p4c, which takes the largest of the headers' smallest sizes for the smallest one.
            Ty::Struct(id) if self.structs[id].kind == StructKind::Union => {
                let sizes = self.structs[id].fields.iter().map(|field| self.size(&field.ty));
                let sizes = sizes.collect::<Option<Vec<_>>>()?;
                let least = sizes.iter().map(|size| size.0).max().unwrap_or(0);
                let most = sizes.iter().map(|size| size.1).max().unwrap_or(0);
                Some((least, most))
            }
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

    /// Number of 64-bit words of a value. The checker uses it to reject very large types.
    pub fn scalars(&self, ty: &Ty) -> u64 {
        match ty {
            Ty::Struct(id) => self.structs[*id].scalars,
            Ty::Stack(element, size) => self.scalars(element).saturating_mul(u64::from(*size)),
            Ty::Tuple(parts) => {
                parts.iter().fold(0u64, |n, part| n.saturating_add(self.scalars(part)))
            }
            Ty::NewType(id) => self.scalars(&self.new_types[*id].1),
            Ty::Bit(w) | Ty::Int(w) | Ty::Varbit(w) => u64::from(w.div_ceil(64)),
            _ => 1,
        }
    }

    /// Name of the type in messages, as in the source.
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
            Ty::InvalidHeader => "an invalid header".into(),
            Ty::NewType(id) => self.new_types[*id].0.to_string(),
            Ty::Extern(id, args) if args.is_empty() => self.externs[*id].name.to_string(),
            Ty::Extern(id, args) => format!("{}<{}>", self.externs[*id].name, list(args)),
            Ty::Block(id) => self.block_names[*id].to_string(),
            Ty::BlockType(id, _) => self.block_type_names[*id].to_string(),
            Ty::Package(_) => "package".into(),
            Ty::Var(name) => name.to_string(),
            Ty::ApplyResult => "the result of a table".into(),
            Ty::Infer => "_".into(),
        }
    }
}
