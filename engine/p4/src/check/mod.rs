//! The checker: resolves names, types every expression, folds constants, and goes on after an
//! error ([`Ty::Unknown`] fits everywhere, so that one mistake is told once).

mod aggregate;
mod args;
mod call;
mod convert;
mod decl;
mod entries;
mod expr;
mod generic;
mod instance;
mod ops;
mod state;
mod stmt;
mod table;
mod type_decl;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::Span;

use crate::ast::{self, Name};
use crate::diag::{Reporter, did_you_mean};
use crate::hir::{HExpr, HInstance, HParam, Hir, Id};
use crate::types::{BlockType, Sig, Ty};

/// What a name stands for.
#[derive(Debug, Clone)]
enum Symbol {
    Type(Ty),
    /// A parser or control type without body.
    BlockType,
    Const(HExpr),
    Var(Id, Ty),
    /// Overloads: functions of the program.
    Functions(Vec<usize>),
    /// Overloads: extern functions.
    Externs(Vec<Rc<Sig>>),
    Action(usize),
    Table(usize),
    ValueSet(Id, usize),
}

/// What a name that nothing declares should have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// A value, or the name before a `.`.
    Value,
    /// A function or an action.
    Callee,
    Type,
    /// The type of a function, or the keyword of a declaration that looks like one.
    Result,
    Action,
    /// A parser or control.
    Block,
}

impl Wanted {
    fn fits(self, symbol: &Symbol) -> bool {
        match self {
            Wanted::Value => match symbol {
                Symbol::Var(..) | Symbol::Const(_) | Symbol::Table(_) => true,
                Symbol::Type(ty) => matches!(ty, Ty::Enum(_) | Ty::Block(_) | Ty::Unknown),
                _ => false,
            },
            Wanted::Callee => {
                matches!(symbol, Symbol::Functions(_) | Symbol::Externs(_) | Symbol::Action(_))
            }
            Wanted::Type | Wanted::Result => matches!(symbol, Symbol::Type(_)),
            Wanted::Action => matches!(symbol, Symbol::Action(_)),
            Wanted::Block => matches!(symbol, Symbol::Type(Ty::Block(_))),
        }
    }

    /// Keywords that can stand there.
    fn keywords(self) -> &'static [&'static str] {
        match self {
            Wanted::Value => &["true", "false", "error"],
            Wanted::Type => &["bit", "bool", "int", "varbit", "tuple", "error"],
            Wanted::Result => {
                &["bit", "bool", "int", "tuple", "error", "void", "action", "control", "parser"]
            }
            Wanted::Callee | Wanted::Action | Wanted::Block => &[],
        }
    }
}

/// Where the code that is being checked stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
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
    packages: Vec<BlockType>,
    match_kinds: HashSet<Rc<str>>,
    /// Variables that may be assigned.
    writable: HashSet<Id>,
    place: Place,
    /// What the function that is being checked returns.
    result: Ty,
    /// Instances made by `Type.apply(...)` in the current block.
    direct: HashMap<usize, HInstance>,
    main_seen: bool,
}

/// Checks a program; None when it is too broken to go on, with errors reported.
pub(crate) fn check(decls: &[ast::Decl], reporter: &mut Reporter) -> Option<Hir> {
    let mut checker = Checker {
        reporter,
        hir: Hir::default(),
        scopes: vec![HashMap::new()],
        packages: Vec::new(),
        match_kinds: HashSet::new(),
        writable: HashSet::new(),
        place: Place::Global,
        result: Ty::Void,
        direct: HashMap::new(),
        main_seen: false,
    };
    for decl in decls {
        checker.top_level(decl);
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

    /// Reports and gives an expression that fits everywhere.
    fn wrong(&mut self, span: Span, message: impl Into<String>) -> HExpr {
        self.reporter.error(span, message);
        HExpr::wrong(span)
    }

    fn show(&self, ty: &Ty) -> String {
        self.hir.types.show(ty)
    }

    fn fresh(&mut self) -> Id {
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
                Symbol::BlockType => " It is a parser or control type there: choose another name.",
                _ => "",
            };
            let message = format!("'{}' is declared already in this scope.{hint}", name.text);
            self.error(name.span, message);
            return;
        }
        scope.insert(name.text.clone(), symbol);
    }

    fn declare_var(&mut self, name: &Name, ty: Ty, writable: bool) -> Id {
        let id = self.fresh();
        if writable {
            self.writable.insert(id);
        }
        self.declare(name, Symbol::Var(id, ty));
        id
    }

    /// Reports a name that nothing declares.
    fn undeclared(&mut self, name: &Name, wanted: Wanted) {
        let known = self.scopes.iter().flatten().filter(|(_, symbol)| wanted.fits(symbol));
        let candidates = known.map(|(name, _)| &**name).chain(wanted.keywords().iter().copied());
        let hint = did_you_mean(&name.text, candidates);
        let message = format!("'{}' is not declared.{hint}", name.text);
        self.error(name.span, message);
    }

    /// Parameters of something with a body, declared in the current scope.
    fn params(&mut self, params: &[ast::Param]) -> Vec<HParam> {
        let mut made = Vec::new();
        for param in params {
            let ty = self.ty(&param.ty);
            let default = param.default.as_ref().map(|e| {
                let value = self.expr_to(e, &ty);
                if !self.is_const(&value) {
                    self.error(e.span, "The default of a parameter must be a constant.");
                }
                value
            });
            let writable = matches!(param.dir, ast::Dir::Out | ast::Dir::InOut);
            let id = self.declare_var(&param.name, ty.clone(), writable);
            made.push(HParam { id, name: param.name.text.clone(), dir: param.dir, ty, default });
        }
        made
    }
}
