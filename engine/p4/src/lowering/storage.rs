//! Storage of variables in the state area.

use std::rc::Rc;

use netkv_ir::{HeaderId, Place, StackId, Word};

/// The storage of a variable.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    Scalar(Place),
    /// Place of the value, and the word with its current width.
    Varbit(Place, Word),
    Header(HeaderId),
    Stack(StackId),
    Struct(Rc<StructStorage>),
    /// A header union: its headers, of which one at most is valid.
    Union(Rc<StructStorage>),
    UnionStack(Rc<UnionStack>),
}

#[derive(Debug)]
pub(super) struct StructStorage {
    pub base: Word,
    pub words: u32,
    pub fields: Vec<Storage>,
}

/// A stack of header unions: one stack for each header of the union. Element `i` of the stack
/// consists of element `i` of each. Their `nextIndex` words are always equal.
#[derive(Debug)]
pub(super) struct UnionStack {
    pub base: Word,
    pub words: u32,
    pub stacks: Vec<StackId>,
}

/// First word and number of words.
pub(super) type Range = (Word, u32);

pub(super) fn overlap(a: Range, b: Range) -> bool {
    a.0 < b.0 + b.1 && b.0 < a.0 + a.1
}

/// `a.b`, or `b` when `a` is empty.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}
