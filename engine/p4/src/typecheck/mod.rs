//! Semantic analysis: turns the syntax tree into the HIR.
//!
//! The checker resolves names, infers the type of every expression, makes conversions explicit and
//! folds constants. It continues after an error: an expression with an error has the type
//! [`Ty::Unknown`], which is compatible with every type, so that each mistake is reported once.
//!
//! `state` has the names in scope, `symbol` what they stand for, and `generic_declarations` the
//! declarations with type parameters. Each other module adds the methods of [`Checker`] for one
//! kind of syntax:
//!
//! ```text
//! decl                    top-level and local declarations
//!  ├─ type_decl           type names, structs, enums, externs, annotations
//!  ├─ generics            generic structs and functions, one copy for each use
//!  ├─ instance            instantiations and the package `main`
//!  ├─ table               tables ─ table_entries: their entries and priorities
//!  ├─ parser_state        parser states, select, value sets
//!  └─ stmt                statements
//!      └─ expr            expressions
//!          ├─ aggregate, operators, conversions
//!          └─ call        calls ─ arguments, builtin_methods, type_inference
//! ```

mod aggregate;
mod arguments;
mod builtin_methods;
mod call;
mod conversions;
mod decl;
mod expr;
mod generic_declarations;
mod generics;
mod instance;
mod operators;
mod packet_methods;
mod parser_state;
mod state;
mod stmt;
mod symbol;
mod table;
mod table_entries;
mod type_decl;
mod type_inference;

use std::collections::{HashMap, HashSet};

use netkv_ir::Span;

use self::generic_declarations::Generics;
use self::state::{Checker, Context};
use crate::ast;
use crate::diagnostics::Reporter;
use crate::hir::Hir;
use crate::types::Ty;

/// Checks a program. `None`: errors were reported.
pub(crate) fn check(decls: &[ast::Decl], reporter: &mut Reporter) -> Option<Hir> {
    let mut checker = Checker {
        reporter,
        hir: Hir::default(),
        scopes: vec![HashMap::new()],
        packages: Vec::new(),
        match_kinds: HashSet::new(),
        writable: HashSet::new(),
        parameters: HashMap::new(),
        context: Context::Global,
        return_type: Ty::Void,
        direct_invocations: HashMap::new(),
        constant_arguments: HashMap::new(),
        main_seen: false,
        generics: Generics::default(),
        loops: 0,
    };
    for decl in decls {
        checker.check_top_level(decl);
    }
    if !checker.main_seen && checker.reporter.errors() == 0 {
        checker.reporter.error(
            Span::default(),
            "The program has no 'main'; 'V1Switch(P(), VC(), I(), E(), CC(), D()) main;' makes one.",
        );
    }
    (checker.reporter.errors() == 0).then_some(checker.hir)
}
