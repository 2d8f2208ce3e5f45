//! The state of the type checker: the HIR so far, and the names in scope.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::Span;

use super::generic_declarations::Generics;
use super::symbol::{ExpectedSymbol, Symbol};
use crate::ast::{self, Name};
use crate::diagnostics::{Reporter, did_you_mean};
use crate::hir::{DeclId, HExpr, HInstance, Hir};
use crate::types::{PackageType, Ty};

/// The kind of declaration that contains the code being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Context {
    #[default]
    Global,
    Parser,
    Control,
    Action,
    Function,
}

/// The state of the type checker.
pub(super) struct Checker<'a> {
    pub(super) reporter: &'a mut Reporter,
    pub(super) hir: Hir,
    pub(super) scopes: Vec<HashMap<Rc<str>, Symbol>>,
    pub(super) packages: Vec<PackageType>,
    pub(super) match_kinds: HashSet<Rc<str>>,
    /// Variables and parameters that code may assign.
    pub(super) writable: HashSet<DeclId>,
    /// All parameters, with their directions.
    pub(super) parameters: HashMap<DeclId, ast::Dir>,
    pub(super) context: Context,
    /// Result type of the function being checked.
    pub(super) return_type: Ty,
    /// Instances of direct type invocations (`Type.apply(...)`) in the current block, by block.
    pub(super) direct_invocations: HashMap<usize, HInstance>,
    /// Constants of parameters without direction, by instance and parameter.
    pub(super) constant_arguments: HashMap<(DeclId, DeclId), num_bigint::BigInt>,
    pub(super) main_seen: bool,
    pub(super) generics: Generics,
    /// Number of loops around the statement being checked.
    pub(super) loops: usize,
}

impl Checker<'_> {
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.reporter.error(span, message);
    }

    /// Reports an error, and returns an expression that is compatible with every type.
    pub(super) fn error_expr(&mut self, span: Span, message: impl Into<String>) -> HExpr {
        self.reporter.error(span, message);
        HExpr::error(span)
    }

    pub(super) fn show(&self, ty: &Ty) -> String {
        self.hir.types.show(ty)
    }

    pub(super) fn new_id(&mut self) -> DeclId {
        self.hir.next_id += 1;
        self.hir.next_id - 1
    }

    pub(super) fn push_scope(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn pop_scope(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    pub(super) fn declare(&mut self, name: &Name, symbol: Symbol) {
        let depth = self.scopes.len();
        let Some(scope) = self.scopes.last_mut() else { return };
        if &*name.text == "main" && depth == 1 {
            return;
        }
        if let Some(other) = scope.get(&name.text) {
            let hint = match other {
                Symbol::BlockType(_) => {
                    " It is a parser or control type there: choose another name."
                }
                _ => "",
            };
            let message = format!("'{}' is declared already in this scope.{hint}", name.text);
            self.error(name.span, message);
            return;
        }
        scope.insert(name.text.clone(), symbol);
    }

    pub(super) fn declare_var(&mut self, name: &Name, ty: Ty, writable: bool) -> DeclId {
        let id = self.new_id();
        if writable {
            self.writable.insert(id);
        }
        self.declare(name, Symbol::Var(id, ty));
        id
    }

    /// Reports an undeclared name, with the most similar declared name of the expected kind.
    pub(super) fn report_undeclared(&mut self, name: &Name, wanted: ExpectedSymbol) {
        let known = self.scopes.iter().flatten().filter(|(_, symbol)| wanted.fits(symbol));
        let candidates = known.map(|(name, _)| &**name).chain(wanted.keywords().iter().copied());
        let hint = did_you_mean(&name.text, candidates);
        let message = format!("'{}' is not declared.{hint}", name.text);
        self.error(name.span, message);
    }
}
