//! Control-flow graphs: blocks, how they end, and where they come from.

use serde::{Deserialize, Serialize};

use crate::{BlockId, Expr, Op, Place, TableId, Value, Word};

/// A position in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Index into [`crate::Program::files`].
    pub file: u32,
    /// Line from 1; 0 when the op has no source.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
}

/// A control-flow graph. Execution starts at block 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cfg {
    /// Basic blocks.
    pub blocks: Vec<Block>,
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Parser state or source construct, for traces (`parse_kv`, `Ingress.lookup.hit`); may be empty.
    pub label: String,
    /// Straight-line operations.
    pub ops: Vec<Op>,
    /// Source of each op, same length as `ops`.
    pub spans: Vec<Span>,
    /// How the block ends.
    pub terminator: Terminator,
    /// Source of the terminator.
    pub terminator_span: Span,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Terminator {
    /// Go on there.
    Jump(BlockId),
    /// Two ways by a width-1 expression.
    Branch {
        /// Condition.
        cond: Expr,
        /// When 1.
        then: BlockId,
        /// When 0.
        otherwise: BlockId,
    },
    /// First matching case wins; used for parser selects and `switch` on values.
    Select {
        /// Keys.
        keys: Vec<Expr>,
        /// Cases in program order.
        cases: Vec<SelectCase>,
        /// When none matches. (v1model: a parser select without match ends as accept;
        /// the front end puts that block here.)
        default: BlockId,
    },
    /// Apply a table: evaluate its keys, look up, write the action's data into the parameter
    /// places of the chosen action *for this apply site*, set `hit`, then go to the action's block.
    /// A table without entry match runs its default action.
    Apply(Box<Apply>),
    /// The graph is done (also parser accept/reject).
    Exit,
}

/// One place where a table is applied. All blocks of inlined actions end at a common successor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Apply {
    /// The table.
    pub table: TableId,
    /// Key expressions, one per [`crate::Table::keys`], same order and widths.
    pub keys: Vec<Expr>,
    /// Word that receives 1 on hit and 0 on miss.
    pub hit: Word,
    /// Word that receives the index into [`crate::Table::actions`] of the action that runs.
    pub action_run: Word,
    /// One target per [`crate::Table::actions`], same order.
    pub targets: Vec<ApplyTarget>,
}

/// Where an action of an [`Apply`] goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplyTarget {
    /// Places of the action's control-plane parameters at this site, in order.
    pub params: Vec<Place>,
    /// Block with the inlined body.
    pub block: BlockId,
}

/// One case of a select.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectCase {
    /// One pattern per key.
    pub patterns: Vec<Pattern>,
    /// Where to go.
    pub target: BlockId,
}

/// A match on a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// `_` or `default`.
    Any,
    /// Equal.
    Value(Value),
    /// `value &&& mask`.
    Mask(Value, Value),
    /// `low .. high`, both inclusive, unsigned (signed ranges are rejected by the front end or lowered).
    Range(Value, Value),
    /// Member of the value set with this index in [`crate::Program::value_sets`]. Only as the single
    /// pattern of its case: it stands for all keys of the select.
    ValueSet(u32),
}
