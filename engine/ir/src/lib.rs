//! The intermediate representation between the P4 front end and the executors.
//!
//! One program is six control-flow graphs (one per v1model block) over one flat state area.
//! The front end has already resolved names, inlined calls and made copy-in/copy-out explicit.
//! `exit` and `return` are jumps, expressions are pure trees, and every variable has a fixed
//! place. An executor needs no symbol table.
//!
//! # Modules
//!
//! ```text
//! program          Program: everything below, for one P4 program
//!  ├─ control_plane   tables, actions, externs: names and ids for P4Info and P4Runtime
//!  ├─ state_layout    places in the state area: variables, headers, stacks, metadata
//!  └─ control_flow    graphs of basic blocks and their terminators
//!      └─ op             operations of a block
//!          └─ expr          pure expressions
//!              └─ value        constants (`display` prints them)
//! text             the whole program as text
//! ```
//!
//! # State area
//!
//! State is a flat array of 64-bit words. A value of width `w` takes `ceil(w / 64)` words,
//! least significant word first, and **unused high bits are always 0** (signed values too:
//! they are kept as their two's complement bit pattern cut to `w` bits). `bool` is width 1.
//! An `error` is width 16 and holds the index into [`Program::errors`]. A serializable or
//! plain enum has the width the front end gives it (32 for plain ones). A validity bit is one word.
//!
//! State starts at 0 for each packet (P4 locals and metadata start at 0 in bmv2).

#![forbid(unsafe_code)]

mod control_flow;
mod control_plane;
mod display;
mod expr;
mod message;
mod op;
mod program;
mod state_layout;
mod text;
mod value;

pub use control_flow::{Apply, ApplyTarget, Block, Cfg, Pattern, SelectCase, Span, Terminator};
pub use control_plane::{
    Action, ActionCall, ActionParam, ActionProfile, ControllerHeader, Counter, CounterUnit, Digest,
    Identity, InitialEntry, Match, MatchKind, Meter, Register, Table, TableAction, TableKey,
    ValueSet,
};
pub use expr::{BinaryOp, Expr, UnaryOp};

pub use message::shortened;
pub use op::{HashAlgorithm, HashInput, Op};
pub use program::Program;
pub use state_layout::{FieldList, Header, HeaderField, Place, Stack, StandardMetadata, Var};
pub use text::program_text;
pub use value::Value;

/// A word offset in the state area.
pub type Word = u32;
/// Index into [`Program::headers`].
pub type HeaderId = u32;
/// Index into [`Program::stacks`].
pub type StackId = u32;
/// Index into [`Program::tables`].
pub type TableId = u32;
/// Index into [`Program::actions`].
pub type ActionId = u32;
/// Index into [`Cfg::blocks`].
pub type BlockId = u32;
/// Index into [`Program::registers`].
pub type RegisterId = u32;
/// Index into [`Program::counters`].
pub type CounterId = u32;
/// Index into [`Program::meters`].
pub type MeterId = u32;
/// Index into [`Program::digests`].
pub type DigestId = u32;
