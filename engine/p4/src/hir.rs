//! The high-level intermediate representation (HIR): the program after semantic analysis.
//!
//! Names are resolved, every expression has a type, constants are folded, and implicit conversions
//! are explicit. The structure is still that of the source: nested statements, calls, instances.

use std::rc::Rc;

use netkv_ir::{MatchKind, Span};
use num_bigint::BigInt;

use crate::annotations::Annotations;
use crate::ast::Dir;
use crate::types::{Ty, Types};

/// Identifies the declaration of a variable, parameter or instance in the program.
pub(crate) type DeclId = u32;

#[derive(Debug, Clone)]
pub(crate) struct HExpr {
    pub kind: HExprKind,
    pub ty: Ty,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum HExprKind {
    /// A scalar constant, as a mathematical integer.
    Const(BigInt),
    Str(Rc<str>),
    Var(DeclId),
    Field(Box<HExpr>, usize),
    Element(Box<HExpr>, Box<HExpr>),
    /// `stack.next`
    Next(Box<HExpr>),
    /// `stack.last`
    Last(Box<HExpr>),
    /// `stack.lastIndex`
    LastIndex(Box<HExpr>),
    Slice(Box<HExpr>, u32, u32),
    Unary(UnOp, Box<HExpr>),
    Binary(BinOp, Box<HExpr>, Box<HExpr>),
    Mux(Box<HExpr>, Box<HExpr>, Box<HExpr>),
    /// Conversion to the type of this expression.
    Cast(Box<HExpr>),
    /// Members of a struct, header or tuple in order.
    Aggregate(Vec<HExpr>),
    /// `{#}`
    InvalidHeader,
    IsValid(Box<HExpr>),
    Call(Box<Call>),
    /// An instance that is created as a constructor argument.
    Instance(Box<HInstance>),
    /// `table.apply().hit`, or `.miss` when false.
    Hit(Box<Call>, bool),
    /// An expression with an error, which is already reported.
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Negate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    SatAdd,
    SatSub,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
    Concat,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub callee: Callee,
    pub type_args: Vec<Ty>,
    pub args: Vec<CallArg>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct CallArg {
    pub dir: Dir,
    /// `None`: `_`.
    pub expr: Option<HExpr>,
}

#[derive(Debug, Clone)]
pub(crate) enum Callee {
    Function(usize),
    Action(usize),
    /// `apply` of an instance of a parser or control.
    Instance(DeclId),
    Table(usize),
    Extern(Rc<str>),
    /// Object, name of its extern type, name of the method.
    Method(DeclId, Rc<str>, Rc<str>),
    SetValid(Box<HExpr>, bool),
    /// `push_front` (true) or `pop_front` by a count.
    Push(Box<HExpr>, bool, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct HParam {
    pub id: DeclId,
    pub name: Rc<str>,
    pub dir: Dir,
    pub ty: Ty,
    pub default: Option<HExpr>,
    pub annotations: Annotations,
}

#[derive(Debug, Clone)]
pub(crate) struct HStmt {
    pub kind: HStmtKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum HStmtKind {
    Decl(HVar),
    Assign(HExpr, HExpr),
    /// `to op= value`. The target is evaluated once.
    CompoundAssign(HExpr, BinOp, HExpr),
    Call(HExpr),
    If(HExpr, Vec<HStmt>, Vec<HStmt>),
    /// Apply call, and cases: the actions (`None`: `default`) and the body.
    SwitchTable(Box<Call>, Vec<(Vec<Option<usize>>, Vec<HStmt>)>),
    SwitchValue(HExpr, Vec<(Vec<Option<HExpr>>, Vec<HStmt>)>),
    Block(Vec<HStmt>),
    /// Runs the body while the condition holds. After each run, and at `continue`, the second
    /// list of statements runs; a `break` in it also ends the loop.
    Loop(HExpr, Vec<HStmt>, Vec<HStmt>),
    /// Runs the body once after each of these assignments.
    ForEach(Vec<HStmt>, Vec<HStmt>),
    Break,
    Continue,
    Return(Option<HExpr>),
    Exit,
}

#[derive(Debug, Clone)]
pub(crate) struct HVar {
    pub id: DeclId,
    pub name: Rc<str>,
    pub ty: Ty,
    pub init: Option<HExpr>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) struct HFunction {
    pub name: Rc<str>,
    pub params: Vec<HParam>,
    pub result: Ty,
    pub body: Rc<Vec<HStmt>>,
}

#[derive(Debug)]
pub(crate) struct HAction {
    pub name: Rc<str>,
    pub annotations: Annotations,
    pub params: Vec<HParam>,
    pub body: Rc<Vec<HStmt>>,
    /// Declared outside of every control.
    pub global: bool,
    /// A control calls it.
    pub called: bool,
    pub span: Span,
}

/// A parser or control type without body.
#[derive(Debug)]
pub(crate) struct HBlockType {
    pub name: Rc<str>,
    pub is_parser: bool,
    pub type_params: Vec<Rc<str>>,
    pub params: Vec<HParam>,
}

#[derive(Debug, Clone)]
pub(crate) struct HInstance {
    pub id: DeclId,
    pub name: Rc<str>,
    pub annotations: Annotations,
    pub kind: InstanceKind,
    pub args: Vec<HExpr>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum InstanceKind {
    Block(usize),
    /// Name of the extern type, and its type arguments.
    Extern(Rc<str>, Vec<Ty>),
}

#[derive(Debug, Clone)]
pub(crate) enum HLocal {
    Var(HVar),
    Instance(HInstance),
    Table(usize),
    ValueSet(usize),
    Action(usize),
}

#[derive(Debug)]
pub(crate) struct HBlock {
    pub name: Rc<str>,
    pub annotations: Annotations,
    pub is_parser: bool,
    pub params: Vec<HParam>,
    pub ctor_params: Vec<HParam>,
    pub locals: Vec<HLocal>,
    pub states: Vec<HState>,
    pub body: Vec<HStmt>,
}

#[derive(Debug)]
pub(crate) struct HState {
    pub name: Rc<str>,
    pub body: Vec<HStmt>,
    pub transition: HTransition,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    State(usize),
    Accept,
    Reject,
}

#[derive(Debug)]
pub(crate) enum HTransition {
    Direct(Target),
    Select { keys: Vec<HExpr>, cases: Vec<(Vec<KeySet>, Target)>, span: Span },
}

/// The set of values of one key that a select case or table entry matches.
#[derive(Debug, Clone)]
pub(crate) enum KeySet {
    Any,
    Value(HExpr),
    Mask(HExpr, HExpr),
    Range(HExpr, HExpr),
    /// A parser value set, which covers all keys of the select.
    ValueSet(DeclId),
}

#[derive(Debug)]
pub(crate) struct HValueSet {
    pub id: DeclId,
    pub name: Rc<str>,
    pub annotations: Annotations,
    /// Names and types of the keys.
    pub keys: Vec<(Rc<str>, Ty, MatchKind, Annotations)>,
    pub size: HExpr,
}

#[derive(Debug, Clone)]
pub(crate) struct HKey {
    pub expr: HExpr,
    /// Type in the source: that of an enum, not its underlying type.
    pub ty: Ty,
    pub annotations: Annotations,
    pub kind: MatchKind,
    pub name: String,
}

#[derive(Debug)]
pub(crate) struct HTableAction {
    pub action: usize,
    /// Arguments for the parameters with a direction.
    pub args: Vec<CallArg>,
    pub annotations: Annotations,
    pub table_only: bool,
    pub default_only: bool,
}

#[derive(Debug)]
pub(crate) struct HEntry {
    /// The larger priority wins; 0 if at most one entry of the table can match.
    pub priority: u32,
    pub keys: Vec<KeySet>,
    /// Index in the table's list of actions.
    pub action: usize,
    pub data: Vec<HExpr>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) struct HTable {
    pub id: DeclId,
    pub name: Rc<str>,
    pub annotations: Annotations,
    pub keys: Vec<HKey>,
    pub actions: Vec<HTableAction>,
    pub default: (usize, Vec<HExpr>),
    pub const_default: bool,
    pub entries: Vec<HEntry>,
    pub const_entries: bool,
    pub largest_priority_wins: bool,
    pub priority_delta: u32,
    pub size: Option<HExpr>,
    pub counter: Option<DeclId>,
    pub meter: Option<DeclId>,
    pub profile: Option<DeclId>,
    pub idle_timeout: bool,
    /// The program applies it.
    pub applied: bool,
    pub span: Span,
}

#[derive(Debug, Default)]
pub(crate) struct Hir {
    pub types: Types,
    pub functions: Vec<HFunction>,
    pub actions: Vec<HAction>,
    pub blocks: Vec<HBlock>,
    pub block_types: Vec<HBlockType>,
    pub tables: Vec<HTable>,
    pub value_sets: Vec<HValueSet>,
    /// Instances outside of every block.
    pub instances: Vec<HInstance>,
    /// The six blocks of the pipeline, in V1Switch's order.
    pub main: Vec<HInstance>,
    pub main_span: Span,
    pub main_annotations: Annotations,
    /// Id for the next declaration.
    pub next_id: DeclId,
}

impl HExprKind {
    /// Direct operands, left to right. A call has none: its arguments are not operands.
    pub fn operands(&self) -> Vec<&HExpr> {
        match self {
            HExprKind::Const(_)
            | HExprKind::Str(_)
            | HExprKind::Var(_)
            | HExprKind::InvalidHeader
            | HExprKind::Error => Vec::new(),
            HExprKind::Field(e, _)
            | HExprKind::Slice(e, ..)
            | HExprKind::Unary(_, e)
            | HExprKind::Cast(e) => {
                vec![e]
            }
            HExprKind::IsValid(e)
            | HExprKind::Next(e)
            | HExprKind::Last(e)
            | HExprKind::LastIndex(e) => vec![e],
            HExprKind::Element(a, b) | HExprKind::Binary(_, a, b) => vec![a, b],
            HExprKind::Mux(a, b, c) => vec![a, b, c],
            HExprKind::Aggregate(parts) => parts.iter().collect(),
            HExprKind::Call(_) | HExprKind::Instance(_) | HExprKind::Hit(..) => Vec::new(),
        }
    }
}

impl HExpr {
    pub fn error(span: Span) -> Self {
        HExpr { kind: HExprKind::Error, ty: Ty::Unknown, span }
    }

    pub fn constant(value: impl Into<BigInt>, ty: Ty, span: Span) -> Self {
        HExpr { kind: HExprKind::Const(value.into()), ty, span }
    }

    /// True if two expressions without calls are written alike.
    pub fn same_as(&self, other: &HExpr) -> bool {
        use HExprKind as Kind;
        let (operands, others) = (self.kind.operands(), other.kind.operands());
        let alike = match (&self.kind, &other.kind) {
            (Kind::Const(a), Kind::Const(b)) => a == b,
            (Kind::Var(a), Kind::Var(b)) => a == b,
            (Kind::Field(_, a), Kind::Field(_, b)) => a == b,
            (Kind::Slice(_, a, b), Kind::Slice(_, c, d)) => (a, b) == (c, d),
            (Kind::Unary(a, _), Kind::Unary(b, _)) => a == b,
            (Kind::Binary(a, ..), Kind::Binary(b, ..)) => a == b,
            (a, b) => {
                std::mem::discriminant(a) == std::mem::discriminant(b) && !operands.is_empty()
            }
        };
        alike
            && self.ty == other.ty
            && operands.len() == others.len()
            && operands.iter().zip(others).all(|(a, b)| a.same_as(b))
    }

    pub fn as_const(&self) -> Option<&BigInt> {
        match &self.kind {
            HExprKind::Const(value) => Some(value),
            _ => None,
        }
    }
}
