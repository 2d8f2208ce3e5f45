//! Values of expressions while they are lowered.

use std::rc::Rc;

use netkv_ir::{Expr, Place, StackId};

use super::storage::{Storage, UnionStack};

/// An l-value.
#[derive(Debug, Clone)]
pub(super) enum LValue {
    Storage(Storage),
    /// A header in a stack, with an index known at run time only.
    Element(StackId, Expr),
    /// A field of such a header: the stack, the index, and the place of the field in element 0.
    ElementField(StackId, Expr, Place),
    /// A struct or varbit in such a header: the stack, the index, and its storage in element 0.
    ElementPart(StackId, Expr, Storage),
    /// A header union in a stack, with an index known at run time only.
    UnionElement(Rc<UnionStack>, Expr),
    Slice(Box<LValue>, u32, u32),
}

/// The value of an expression.
#[derive(Debug, Clone)]
pub(super) enum RValue {
    Scalar(Expr),
    /// The current value of an l-value.
    Stored(LValue),
    /// Members of a struct or of a valid header.
    List(Vec<RValue>),
    InvalidHeader,
    Void,
}
