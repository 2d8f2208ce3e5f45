//! Control-flow graphs: basic blocks, their terminators, and their source positions.

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
    /// Parser state or source construct, for traces, such as `parse_kv`. It may be empty.
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
    /// Unconditional jump.
    Jump(BlockId),
    /// Conditional branch.
    Branch {
        /// Condition, width 1.
        cond: Expr,
        /// Successor if the condition is 1.
        then: BlockId,
        /// Successor if the condition is 0.
        otherwise: BlockId,
    },
    /// The first matching case wins. Parser selects and `switch` on values become this.
    Select {
        /// Keys.
        keys: Vec<Expr>,
        /// Cases in program order.
        cases: Vec<SelectCase>,
        /// Successor if no case matches. In v1model, a parser select without a match accepts.
        /// The front end puts the accepting block here.
        default: BlockId,
    },
    /// Apply a table, in this order:
    ///
    /// 1. Evaluate the keys and look them up. On a miss, the default action is chosen.
    /// 2. Write the action data to the parameter places of that action *for this apply site*.
    /// 3. Set `hit` and `action_run`, then jump to the block of the action.
    Apply(Box<Apply>),
    /// End of the graph. Parser accept and reject end here, too.
    Exit,
}

impl Terminator {
    /// The blocks that may follow, in the order of the decision. A block may be there twice.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Self::Jump(block) => vec![*block],
            Self::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            Self::Select { cases, default, .. } => {
                cases.iter().map(|case| case.target).chain([*default]).collect()
            }
            Self::Apply(apply) => apply.targets.iter().map(|target| target.block).collect(),
            Self::Exit => Vec::new(),
        }
    }
}

/// One apply site of a table. The blocks of all inlined actions lead to a common successor.
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

/// The inlined body of one action at an apply site.
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
    /// Successor if all patterns match.
    pub target: BlockId,
}

/// A pattern that a select key is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// `_` or `default`.
    Any,
    /// Equal.
    Value(Value),
    /// `value &&& mask`.
    Mask(Value, Value),
    /// `low .. high`, both inclusive, unsigned. The front end rejects signed ranges.
    Range(Value, Value),
    /// Member of the value set with this index in [`crate::Program::value_sets`]. It is the only
    /// pattern of its case and covers all keys of the select.
    ValueSet(u32),
}
