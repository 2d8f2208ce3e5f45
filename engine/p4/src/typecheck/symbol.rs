//! What names stand for.

use std::rc::Rc;

use crate::hir::{DeclId, HExpr};
use crate::types::{FunctionType, Ty};

/// The declared entity of a name.
#[derive(Debug, Clone)]
pub(super) enum Symbol {
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
pub(super) enum ExpectedSymbol {
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
    pub(super) fn fits(self, symbol: &Symbol) -> bool {
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
    pub(super) fn keywords(self) -> &'static [&'static str] {
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
