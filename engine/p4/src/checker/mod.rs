//! Semantic analysis: turns the syntax tree into the HIR.
//!
//! The checker resolves names, infers the type of every expression, makes conversions explicit and
//! folds constants. It continues after an error: an expression with an error has the type
//! [`Ty::Unknown`], which is compatible with every type, so that each mistake is reported once.
//!
//! Each module adds the methods of [`Checker`] for one kind of syntax:
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
mod generics;
mod instance;
mod operators;
mod packet_methods;
mod parser_state;
mod stmt;
mod table;
mod table_entries;
mod type_decl;
mod type_inference;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::Span;

use crate::ast::{self, Name};
use crate::diagnostics::{Reporter, did_you_mean};
use crate::hir::{DeclId, HExpr, HInstance, HParam, Hir};
use crate::types::{FunctionType, PackageType, Ty};

/// The declared entity of a name.
#[derive(Debug, Clone)]
enum Symbol {
    Type(Ty),
    /// A parser or control type without body: index in [`Hir::block_types`].
    BlockType(usize),
    Const(HExpr),
    Var(DeclId, Ty),
    /// Overloaded functions of the program.
    Functions(Vec<usize>),
    /// A generic struct or header: index in the checker's list.
    GenericStruct(usize),
    /// Overloaded generic functions: indices in the checker's list.
    GenericFunctions(Vec<usize>),
    /// Overloaded extern functions.
    Externs(Vec<Rc<FunctionType>>),
    Action(usize),
    Table(usize),
    ValueSet(DeclId, usize),
}

/// The kind of entity that an undeclared name was expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedSymbol {
    /// A value, or the name before a `.`.
    Value,
    /// A function or an action.
    Callee,
    Type,
    /// The result type of a function, or a misspelt keyword that starts a declaration.
    Result,
    Action,
    /// A parser or control.
    Block,
}

impl ExpectedSymbol {
    fn fits(self, symbol: &Symbol) -> bool {
        match self {
            ExpectedSymbol::Value => match symbol {
                Symbol::Var(..) | Symbol::Const(_) | Symbol::Table(_) => true,
                Symbol::Type(ty) => matches!(ty, Ty::Enum(_) | Ty::Block(_) | Ty::Unknown),
                _ => false,
            },
            ExpectedSymbol::Callee => {
                matches!(
                    symbol,
                    Symbol::Functions(_)
                        | Symbol::GenericFunctions(_)
                        | Symbol::Externs(_)
                        | Symbol::Action(_)
                )
            }
            ExpectedSymbol::Type | ExpectedSymbol::Result => {
                matches!(symbol, Symbol::Type(_) | Symbol::GenericStruct(_))
            }
            ExpectedSymbol::Action => matches!(symbol, Symbol::Action(_)),
            ExpectedSymbol::Block => matches!(symbol, Symbol::Type(Ty::Block(_))),
        }
    }

    /// Keywords that are possible instead of the name.
    fn keywords(self) -> &'static [&'static str] {
        match self {
            ExpectedSymbol::Value => &["true", "false", "error"],
            ExpectedSymbol::Type => &["bit", "bool", "int", "varbit", "tuple", "error"],
            ExpectedSymbol::Result => {
                &["bit", "bool", "int", "tuple", "error", "void", "action", "control", "parser"]
            }
            ExpectedSymbol::Callee | ExpectedSymbol::Action | ExpectedSymbol::Block => &[],
        }
    }
}

/// The kind of declaration that contains the code being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Context {
    #[default]
    Global,
    Parser,
    Control,
    Action,
    Function,
}

struct Checker<'a> {
    reporter: &'a mut Reporter,
    hir: Hir,
    scopes: Vec<HashMap<Rc<str>, Symbol>>,
    packages: Vec<PackageType>,
    match_kinds: HashSet<Rc<str>>,
    /// Variables and parameters that code may assign.
    writable: HashSet<DeclId>,
    /// All parameters, with their directions.
    parameters: HashMap<DeclId, ast::Dir>,
    context: Context,
    /// Result type of the function being checked.
    return_type: Ty,
    /// Instances of direct type invocations (`Type.apply(...)`) in the current block, by block.
    direct_invocations: HashMap<usize, HInstance>,
    /// Constants of parameters without direction, by instance and parameter.
    constant_arguments: HashMap<(DeclId, DeclId), num_bigint::BigInt>,
    main_seen: bool,
    generics: generics::Generics,
    /// Number of loops around the statement being checked.
    loops: usize,
}

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
        generics: generics::Generics::default(),
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

impl Checker<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.reporter.error(span, message);
    }

    /// Reports an error, and returns an expression that is compatible with every type.
    fn error_expr(&mut self, span: Span, message: impl Into<String>) -> HExpr {
        self.reporter.error(span, message);
        HExpr::error(span)
    }

    fn show(&self, ty: &Ty) -> String {
        self.hir.types.show(ty)
    }

    fn new_id(&mut self) -> DeclId {
        self.hir.next_id += 1;
        self.hir.next_id - 1
    }

    fn push_scope(&mut self) {
        self.scopes.push(HashMap::new());
    }

    fn pop_scope(&mut self) {
        self.scopes.pop();
    }

    fn lookup(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    fn declare(&mut self, name: &Name, symbol: Symbol) {
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

    fn declare_var(&mut self, name: &Name, ty: Ty, writable: bool) -> DeclId {
        let id = self.new_id();
        if writable {
            self.writable.insert(id);
        }
        self.declare(name, Symbol::Var(id, ty));
        id
    }

    /// Reports an undeclared name, with the most similar declared name of the expected kind.
    fn report_undeclared(&mut self, name: &Name, wanted: ExpectedSymbol) {
        let known = self.scopes.iter().flatten().filter(|(_, symbol)| wanted.fits(symbol));
        let candidates = known.map(|(name, _)| &**name).chain(wanted.keywords().iter().copied());
        let hint = did_you_mean(&name.text, candidates);
        let message = format!("'{}' is not declared.{hint}", name.text);
        self.error(name.span, message);
    }

    /// Checks the parameters of a function, action or block, and declares them in this scope.
    fn check_params(&mut self, params: &[ast::Param]) -> Vec<HParam> {
        let mut checked = Vec::new();
        for param in params {
            let ty = self.check_param_type(param);
            let default = param.default.as_ref().map(|e| {
                let value = self.check_expr_of_type(e, &ty);
                if !self.is_const(&value) {
                    self.error(e.span, "The default of a parameter must be a constant.");
                }
                value
            });
            let writable = matches!(param.dir, ast::Dir::Out | ast::Dir::InOut);
            let id = self.declare_var(&param.name, ty.clone(), writable);
            self.parameters.insert(id, param.dir);
            let annotations = self.check_annotations(&param.annotations);
            let name = param.name.text.clone();
            checked.push(HParam { id, name, dir: param.dir, ty, default, annotations });
        }
        checked
    }
}
