//! Types, and what the code of a program may name.

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    Bool,
    Bit(u32),
    Int(u32),
}

impl Ty {
    pub(super) fn text(self) -> String {
        match self {
            Ty::Bool => "bool".to_owned(),
            Ty::Bit(width) => format!("bit<{width}>"),
            Ty::Int(width) => format!("int<{width}>"),
        }
    }
}

/// An expression with a type that may be read, and perhaps written.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) text: String,
    pub(super) ty: Ty,
    pub(super) writable: bool,
}

/// The kind of code that is written; it determines which statements are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    Function,
    Parser,
    Checksum,
    Action,
    Control,
}

/// An object with cells.
#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) size: usize,
}

/// An action that may be called.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) name: String,
    /// `in`, `inout` or `out`, then the type.
    pub(super) directed: Vec<(&'static str, Ty)>,
    pub(super) data: Vec<Ty>,
    /// The table whose direct meter it reads. Only that table may have the action.
    pub(super) of_table: Option<usize>,
}

/// A table that has not been applied yet.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) actions: Vec<String>,
}

/// A function with its parameters.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) params: Vec<(&'static str, Ty)>,
    pub(super) result: Ty,
}

/// Parameters of the nested control after headers, metadata and standard metadata.
pub(super) const NESTED_PARAMS: &[(&str, Ty)] = &[("in", Ty::Bit(8)), ("inout", Ty::Bit(16))];
