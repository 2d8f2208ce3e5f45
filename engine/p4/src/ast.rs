//! The abstract syntax tree, as the parser builds it.

use std::rc::Rc;

use netkv_ir::Span;
use num_bigint::BigInt;

/// An identifier and its position in the source.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub text: Rc<str>,
    pub span: Span,
}

/// `@name(...)` or `@name[...]`.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    pub name: Rc<str>,
    /// First string literal of the body.
    pub string: Option<Rc<str>>,
    /// Expressions of the body. Only structured annotations, and those that the compiler uses, have
    /// them.
    pub exprs: Vec<Expr>,
    /// `key = value` pairs of the body, with the same restriction.
    pub pairs: Vec<(Name, Expr)>,
    /// `@name[...]`
    pub structured: bool,
    /// URI of `@p4runtime_translation`, and the width for the control plane; `None`: `string`.
    pub translation: Option<(Rc<str>, Option<u32>)>,
    /// Source text.
    pub text: String,
    pub span: Span,
}

impl Annotation {
    /// An annotation without a body.
    pub fn new(name: Rc<str>, span: Span) -> Self {
        Self {
            text: format!("@{name}"),
            name,
            string: None,
            exprs: Vec::new(),
            pairs: Vec::new(),
            structured: false,
            translation: None,
            span,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    /// Value, width and signedness, and the base of its notation.
    Int(BigInt, Option<(u32, bool)>, u32),
    Bool(bool),
    Str(Rc<str>),
    Ident(Name),
    /// `.name`: a name in the outermost scope.
    Global(Name),
    Member(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Type, Box<Expr>),
    Call(Box<Expr>, Vec<Type>, Vec<Arg>),
    List(Vec<Expr>),
    Record(Vec<(Name, Expr)>),
    /// `{#}`
    InvalidHeader,
    /// `...`
    Dots,
    /// `_` or `default`, in arguments and key sets.
    DontCare,
    /// `(a, b)` in a key set.
    KeyTuple(Vec<Expr>),
    Mask(Box<Expr>, Box<Expr>),
    Range(Box<Expr>, Box<Expr>),
}

/// `expr` or `name = expr`.
#[derive(Debug, Clone)]
pub(crate) struct Arg {
    pub name: Option<Name>,
    pub expr: Expr,
}

#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeKind {
    Void,
    Bool,
    Error,
    MatchKind,
    Str,
    Bit(Option<Box<Expr>>),
    Int(Option<Box<Expr>>),
    Varbit(Box<Expr>),
    Named(Name, bool, Vec<Type>),
    Stack(Box<Type>, Box<Expr>),
    Tuple(Vec<Type>),
    List,
    DontCare,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dir {
    None,
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub annotations: Vec<Annotation>,
    pub dir: Dir,
    pub ty: Type,
    pub name: Name,
    pub default: Option<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub annotations: Vec<Annotation>,
    pub ty: Type,
    pub name: Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StructKind {
    Struct,
    Header,
    Union,
}

/// Signature of a function, method or constructor.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// Result type; `None` for a constructor.
    pub result: Option<Type>,
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
}

#[derive(Debug, Clone)]
pub(crate) struct Decl {
    pub annotations: Vec<Annotation>,
    pub kind: DeclKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum DeclKind {
    Const {
        ty: Type,
        name: Name,
        value: Expr,
    },
    Var {
        ty: Type,
        name: Name,
        init: Option<Expr>,
    },
    Typedef {
        ty: Type,
        name: Name,
        new_type: bool,
    },
    Struct {
        kind: StructKind,
        name: Name,
        type_params: Vec<Name>,
        fields: Vec<Field>,
    },
    Enum {
        name: Name,
        repr: Option<Type>,
        members: Vec<(Name, Option<Expr>)>,
    },
    Errors(Vec<Name>),
    MatchKinds(Vec<Name>),
    Extern {
        name: Name,
        type_params: Vec<Name>,
        methods: Vec<Signature>,
    },
    ExternFunction(Signature),
    Function(Signature, Vec<Stmt>),
    Action {
        name: Name,
        params: Vec<Param>,
        body: Vec<Stmt>,
    },
    /// A parser or control. A parser or control type has no body.
    Block(BlockDecl),
    Package {
        name: Name,
        type_params: Vec<Name>,
    },
    Instance {
        ty: Type,
        args: Vec<Arg>,
        name: Name,
    },
    Table {
        name: Name,
        properties: Vec<Property>,
    },
    ValueSet {
        ty: Type,
        size: Expr,
        name: Name,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct BlockDecl {
    pub is_parser: bool,
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
    pub ctor_params: Vec<Param>,
    pub body: Option<BlockBody>,
}

#[derive(Debug, Clone)]
pub(crate) struct BlockBody {
    pub locals: Vec<Decl>,
    pub states: Vec<State>,
    pub apply: Vec<Stmt>,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub name: Name,
    pub body: Vec<Stmt>,
    pub transition: Option<Transition>,
}

#[derive(Debug, Clone)]
pub(crate) enum Transition {
    Direct(Name),
    Select { keys: Vec<Expr>, cases: Vec<(Expr, Name)>, span: Span },
}

#[derive(Debug, Clone)]
pub(crate) struct Property {
    pub annotations: Vec<Annotation>,
    pub constant: bool,
    pub name: Name,
    pub value: PropertyValue,
}

#[derive(Debug, Clone)]
pub(crate) enum PropertyValue {
    Keys(Vec<Key>),
    Actions(Vec<ActionRef>),
    Entries(Vec<Entry>),
    Expr(Expr),
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub expr: Expr,
    pub kind: Name,
    pub annotations: Vec<Annotation>,
}

#[derive(Debug, Clone)]
pub(crate) struct ActionRef {
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub args: Vec<Arg>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub priority: Option<Expr>,
    pub keys: Expr,
    pub action: Expr,
    pub annotations: Vec<Annotation>,
}

#[derive(Debug, Clone)]
pub(crate) struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum StmtKind {
    Empty,
    /// Target, operator of a compound assignment, value.
    Assign(Expr, Option<&'static str>, Expr),
    Call(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    Switch(Expr, Vec<SwitchCase>),
    Block(Vec<Stmt>),
    Return(Option<Expr>),
    Exit,
    Break,
    Continue,
    /// `for (init; cond; update) body`
    For {
        init: Vec<Stmt>,
        cond: Expr,
        update: Vec<Stmt>,
        body: Box<Stmt>,
    },
    /// `for (type name in collection) body`. The collection is a list, a stack or a range.
    ForIn {
        ty: Type,
        name: Name,
        of: Expr,
        body: Box<Stmt>,
    },
    Decl(Box<Decl>),
}

#[derive(Debug, Clone)]
pub(crate) struct SwitchCase {
    /// `None`: `default`.
    pub label: Option<Expr>,
    /// `None`: falls through to the next case.
    pub body: Option<Vec<Stmt>>,
    pub span: Span,
}
