//! The checked program: names resolved, constants folded, conversions explicit.

use std::rc::Rc;

use netkv_ir::{MatchKind, Span};
use num_bigint::BigInt;

use crate::ast::Dir;
use crate::types::{Ty, Types};

/// A declaration of a variable, parameter or instance; unique in the program.
pub(crate) type Id = u32;

/// Annotations that the compiler reads, and the text of the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotations {
    pub name: Option<Rc<str>>,
    pub id: Option<u32>,
    pub table_only: bool,
    pub default_only: bool,
    pub field_lists: Vec<u32>,
    pub controller_header: Option<Rc<str>>,
    pub others: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct HExpr {
    pub kind: HKind,
    pub ty: Ty,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum HKind {
    /// A scalar constant: the mathematical value.
    Const(BigInt),
    Str(Rc<str>),
    Var(Id),
    Field(Box<HExpr>, usize),
    Element(Box<HExpr>, Box<HExpr>),
    /// `stack.next`, `stack.last`, `stack.lastIndex`.
    Next(Box<HExpr>),
    Last(Box<HExpr>),
    LastIndex(Box<HExpr>),
    Slice(Box<HExpr>, u32, u32),
    Unary(UnOp, Box<HExpr>),
    Binary(BinOp, Box<HExpr>, Box<HExpr>),
    Mux(Box<HExpr>, Box<HExpr>, Box<HExpr>),
    /// To the type of the expression.
    Cast(Box<HExpr>),
    /// Members of a struct, header or tuple in order.
    Aggregate(Vec<HExpr>),
    /// `{#}`
    Invalid,
    IsValid(Box<HExpr>),
    Call(Box<Call>),
    /// `table.apply().hit`, or `.miss` when false.
    Hit(Box<Call>, bool),
    /// Reported already.
    Wrong,
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
    Both,
    /// `||`
    Either,
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
    /// None: `_`.
    pub expr: Option<HExpr>,
}

#[derive(Debug, Clone)]
pub(crate) enum Callee {
    Function(usize),
    Action(usize),
    /// `apply` of an instance of a parser or control.
    Instance(Id),
    Table(usize),
    Extern(Rc<str>),
    /// Object, its extern type, method.
    Method(Id, Rc<str>, Rc<str>),
    SetValid(Box<HExpr>, bool),
    /// `push_front` (true) or `pop_front` by a count.
    Push(Box<HExpr>, bool, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct HParam {
    pub id: Id,
    pub name: Rc<str>,
    pub dir: Dir,
    pub ty: Ty,
    pub default: Option<HExpr>,
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
    /// `to op= value`: the target is evaluated once.
    Update(HExpr, BinOp, HExpr),
    Call(HExpr),
    If(HExpr, Vec<HStmt>, Vec<HStmt>),
    /// Cases: actions (none: default) and body.
    SwitchTable(Box<Call>, Vec<(Vec<Option<usize>>, Vec<HStmt>)>),
    SwitchValue(HExpr, Vec<(Vec<Option<HExpr>>, Vec<HStmt>)>),
    Block(Vec<HStmt>),
    Return(Option<HExpr>),
    Exit,
}

#[derive(Debug, Clone)]
pub(crate) struct HVar {
    pub id: Id,
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
}

#[derive(Debug, Clone)]
pub(crate) struct HInstance {
    pub id: Id,
    pub name: Rc<str>,
    pub annotations: Annotations,
    pub of: InstanceOf,
    pub args: Vec<HExpr>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum InstanceOf {
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

/// What a case or entry says of one key.
#[derive(Debug, Clone)]
pub(crate) enum KeySet {
    Any,
    Value(HExpr),
    Mask(HExpr, HExpr),
    Range(HExpr, HExpr),
    /// For all keys of the select.
    ValueSet(Id),
}

#[derive(Debug)]
pub(crate) struct HValueSet {
    pub id: Id,
    pub name: Rc<str>,
    pub annotations: Annotations,
    /// Names and types of the keys.
    pub keys: Vec<(Rc<str>, Ty, MatchKind)>,
    pub size: HExpr,
}

#[derive(Debug)]
pub(crate) struct HKey {
    pub expr: HExpr,
    pub kind: MatchKind,
    pub name: String,
}

#[derive(Debug)]
pub(crate) struct HTableAction {
    pub action: usize,
    /// For the parameters with a direction.
    pub args: Vec<CallArg>,
    pub table_only: bool,
    pub default_only: bool,
}

#[derive(Debug)]
pub(crate) struct HEntry {
    /// Larger wins; it counts where several entries can match.
    pub priority: u32,
    pub keys: Vec<KeySet>,
    /// Place in the table's list of actions.
    pub action: usize,
    pub data: Vec<HExpr>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) struct HTable {
    pub id: Id,
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
    pub counter: Option<Id>,
    pub meter: Option<Id>,
    pub profile: Option<Id>,
    pub idle_timeout: bool,
    pub span: Span,
}

#[derive(Debug, Default)]
pub(crate) struct Hir {
    pub types: Types,
    pub functions: Vec<HFunction>,
    pub actions: Vec<HAction>,
    pub blocks: Vec<HBlock>,
    pub tables: Vec<HTable>,
    pub value_sets: Vec<HValueSet>,
    /// Instances outside of every block.
    pub instances: Vec<HInstance>,
    /// The six blocks of the pipeline, in V1Switch's order.
    pub main: Vec<HInstance>,
    pub main_span: Span,
    /// First number that is no declaration.
    pub next_id: Id,
}

impl HKind {
    /// The expressions that it is made of, left to right; the arguments of a call are not among
    /// them.
    pub fn parts(&self) -> Vec<&HExpr> {
        match self {
            HKind::Const(_) | HKind::Str(_) | HKind::Var(_) | HKind::Invalid | HKind::Wrong => {
                Vec::new()
            }
            HKind::Field(e, _) | HKind::Slice(e, ..) | HKind::Unary(_, e) | HKind::Cast(e) => {
                vec![e]
            }
            HKind::IsValid(e) | HKind::Next(e) | HKind::Last(e) | HKind::LastIndex(e) => vec![e],
            HKind::Element(a, b) | HKind::Binary(_, a, b) => vec![a, b],
            HKind::Mux(a, b, c) => vec![a, b, c],
            HKind::Aggregate(parts) => parts.iter().collect(),
            HKind::Call(_) | HKind::Hit(..) => Vec::new(),
        }
    }
}

impl HExpr {
    pub fn wrong(span: Span) -> Self {
        HExpr { kind: HKind::Wrong, ty: Ty::Unknown, span }
    }

    pub fn constant(value: impl Into<BigInt>, ty: Ty, span: Span) -> Self {
        HExpr { kind: HKind::Const(value.into()), ty, span }
    }

    pub fn as_const(&self) -> Option<&BigInt> {
        match &self.kind {
            HKind::Const(value) => Some(value),
            _ => None,
        }
    }
}
