//! The prepared form of a graph, which the interpreter runs.
//!
//! Blocks and steps correspond one to one to the blocks and operations of the IR, so that a trace
//! can name the source. Each width has its own steps, so that no packet has to select by width.

use netkv_ir::{HashAlgorithm, Place};

use crate::interpreter::prepared_expr::{Elements, NarrowExpr, WideExpr};

/// A basic block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Step>,
    pub(crate) end: BlockEnd,
}

/// How a block ends.
#[derive(Debug, Clone)]
pub(crate) enum BlockEnd {
    Jump(u32),
    Branch {
        cond: NarrowExpr,
        then: u32,
        otherwise: u32,
    },
    /// A select on one key of at most 64 bits without value sets.
    SelectNarrow {
        key: NarrowExpr,
        cases: Vec<(Test, u32)>,
        default: u32,
    },
    Select {
        keys: Vec<WideExpr>,
        cases: Vec<Case>,
        default: u32,
    },
    Apply(Box<Apply>),
    Exit,
}

/// A pattern for a key of at most 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    Mask { value: u64, mask: u64 },
    Range { low: u64, high: u64 },
}

impl Test {
    /// True if the key matches.
    #[inline]
    pub(crate) fn holds(self, key: u64) -> bool {
        match self {
            Test::Mask { value, mask } => key & mask == value,
            Test::Range { low, high } => (low..=high).contains(&key),
        }
    }
}

/// A case of a general select.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) patterns: Vec<WidePattern>,
    pub(crate) target: u32,
}

/// A pattern for a key of any width. `from` is its first word in the concatenated keys.
#[derive(Debug, Clone)]
pub(crate) enum WidePattern {
    Mask { from: usize, value: Vec<u64>, mask: Vec<u64> },
    Range { from: usize, low: Vec<u64>, high: Vec<u64> },
    ValueSet(u32),
}

/// An apply site of a table.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) table: u32,
    /// Keys without the selector keys.
    pub(crate) keys: Vec<WideExpr>,
    /// Selector keys, whose hash chooses a member of a group.
    pub(crate) selector: Vec<HashPart>,
    pub(crate) hit: u32,
    pub(crate) action_run: u32,
    pub(crate) targets: Vec<Target>,
}

/// Places of an action's parameters, and its block.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// First word and number of words of each parameter.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) block: u32,
}

/// One member of a hash's data list.
#[derive(Debug, Clone)]
pub(crate) struct HashPart {
    /// Validity word of its header: if it is 0, the member is omitted.
    pub(crate) valid: Option<u32>,
    pub(crate) value: HashValue,
    pub(crate) width: u32,
}

/// The value of a hash input.
#[derive(Debug, Clone)]
pub(crate) enum HashValue {
    Narrow(NarrowExpr),
    Wide(WideExpr),
    /// A varbit, and the word with its current width.
    Varbit(WideExpr, u32),
}

/// The target of an assignment to a stack element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElementPlace {
    pub(crate) elements: Elements,
    pub(crate) word: u32,
    pub(crate) words: u32,
}

/// A prepared operation.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Set {
        to: u32,
        value: u64,
    },
    Copy {
        to: u32,
        from: u32,
    },
    Assign {
        to: u32,
        value: NarrowExpr,
    },
    AssignWide {
        to: u32,
        words: u32,
        value: WideExpr,
    },
    AssignSlice {
        to: u32,
        low: u32,
        mask: u64,
        value: NarrowExpr,
    },
    AssignSliceWide {
        to: Place,
        low: u32,
        width: u32,
        value: WideExpr,
    },
    StoreElement {
        to: ElementPlace,
        index: NarrowExpr,
        value: WideExpr,
    },
    CopyHeader {
        to: u32,
        from: u32,
    },
    CopyWords {
        to: u32,
        from: u32,
        words: u32,
    },
    ZeroWords {
        to: u32,
        words: u32,
    },
    SetValid(u32),
    SetInvalid(u32),
    SetValidElement {
        stack: u32,
        index: NarrowExpr,
        valid: bool,
    },
    PushFront {
        stack: u32,
        count: u32,
    },
    PopFront {
        stack: u32,
        count: u32,
    },
    Extract(u32),
    ExtractNext(u32),
    ExtractVarbit {
        header: u32,
        bits: NarrowExpr,
    },
    Lookahead {
        to: Place,
        skip: u32,
        need: u32,
    },
    Advance(NarrowExpr),
    Verify {
        cond: NarrowExpr,
        error: NarrowExpr,
    },
    CheckStackLast(u32),
    Reject,
    Emit(u32),
    EmitStack(u32),
    RegisterRead {
        register: u32,
        index: NarrowExpr,
        to: u32,
        words: u32,
    },
    RegisterWriteNarrow {
        register: u32,
        index: NarrowExpr,
        value: NarrowExpr,
    },
    RegisterWrite {
        register: u32,
        index: NarrowExpr,
        value: WideExpr,
    },
    Count {
        counter: u32,
        index: NarrowExpr,
    },
    ExecuteMeter {
        meter: u32,
        index: NarrowExpr,
        to: Place,
    },
    ReadDirectMeter {
        meter: u32,
        to: Place,
    },
    Hash {
        to: Place,
        algorithm: HashAlgorithm,
        base: NarrowExpr,
        data: Vec<HashPart>,
        max: NarrowExpr,
    },
    Random {
        to: Place,
        low: NarrowExpr,
        high: NarrowExpr,
    },
    VerifyChecksum {
        cond: NarrowExpr,
        data: Vec<HashPart>,
        checksum: NarrowExpr,
        algorithm: HashAlgorithm,
        with_payload: bool,
    },
    UpdateChecksum {
        cond: NarrowExpr,
        data: Vec<HashPart>,
        to: Place,
        valid: Option<u32>,
        algorithm: HashAlgorithm,
        with_payload: bool,
    },
    MarkToDrop,
    Clone {
        session: NarrowExpr,
        field_list: Option<u32>,
    },
    Resubmit(Option<u32>),
    Recirculate(Option<u32>),
    Digest {
        digest: u32,
        values: Vec<WideExpr>,
    },
    Truncate(NarrowExpr),
    /// Has an effect on traces only.
    Log,
    Assert {
        cond: NarrowExpr,
        assertion: u32,
    },
}
