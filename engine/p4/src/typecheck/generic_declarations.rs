//! The generic declarations of a program.

use std::rc::Rc;

use crate::ast::{Decl, Signature, Stmt};
use crate::types::Ty;

/// A generic function: its signature and its body.
pub(super) type GenericFunction = (Signature, Vec<Stmt>);

/// The copies of a declaration: its type arguments, and what was made of them.
pub(super) type Copies<T> = Vec<(Vec<Ty>, T)>;

/// The generic declarations of a program, with the copies made so far.
#[derive(Default)]
pub(super) struct Generics {
    pub(super) structs: Vec<(Rc<Decl>, Copies<Ty>)>,
    pub(super) functions: Vec<(Rc<GenericFunction>, Copies<usize>)>,
    pub(super) depth: usize,
}
