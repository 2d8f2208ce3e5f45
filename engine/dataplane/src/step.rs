//! The prepared form of a graph: what the interpreter runs.
//!
//! Blocks and steps correspond one to one to the IR's blocks and operations, so that a trace can
//! name the source. What differs by width is settled here instead of at each packet.

use netkv_ir::{HashAlgorithm, Place};

use crate::expr::{Elements, Small, Wide};

/// A basic block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
}

/// How a block ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Jump(u32),
    Branch {
        cond: Small,
        then: u32,
        otherwise: u32,
    },
    /// A select on one key of at most 64 bits without value sets.
    SelectSmall {
        key: Small,
        cases: Vec<(Test, u32)>,
        default: u32,
    },
    Select {
        keys: Vec<Wide>,
        cases: Vec<Case>,
        default: u32,
    },
    Apply(Box<Apply>),
    Exit,
}

/// A pattern on at most 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    Mask { value: u64, mask: u64 },
    Range { low: u64, high: u64 },
}

impl Test {
    /// Whether `value` matches.
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

/// A pattern on any width, over the words `from..from + len` of the keys one after the other.
#[derive(Debug, Clone)]
pub(crate) enum WidePattern {
    Mask { from: usize, value: Vec<u64>, mask: Vec<u64> },
    Range { from: usize, low: Vec<u64>, high: Vec<u64> },
    ValueSet(u32),
}

/// A table application.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) table: u32,
    /// Keys that entries match on.
    pub(crate) keys: Vec<Wide>,
    /// Keys that only choose a member of a group.
    pub(crate) selector: Vec<HashPart>,
    pub(crate) hit: u32,
    pub(crate) action_run: u32,
    pub(crate) targets: Vec<Target>,
}

/// Where an action's data goes, and its block.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `(word, words)` of each parameter.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) block: u32,
}

/// One member of a hash's data list.
#[derive(Debug, Clone)]
pub(crate) struct HashPart {
    /// Left out while this word is 0.
    pub(crate) valid: Option<u32>,
    pub(crate) value: HashValue,
    pub(crate) width: u32,
}

/// The value of a hash input.
#[derive(Debug, Clone)]
pub(crate) enum HashValue {
    Small(Small),
    Wide(Wide),
    /// A varbit: its value, and the word with its width.
    Varbit(Wide, u32),
}

/// The target of an assignment to a stack element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElementPlace {
    pub(crate) elements: Elements,
    pub(crate) word: u32,
    pub(crate) words: u32,
}

/// One operation.
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
        value: Small,
    },
    AssignWide {
        to: u32,
        words: u32,
        value: Wide,
    },
    AssignSlice {
        to: u32,
        low: u32,
        mask: u64,
        value: Small,
    },
    AssignSliceWide {
        to: Place,
        low: u32,
        width: u32,
        value: Wide,
    },
    StoreElement {
        to: ElementPlace,
        index: Small,
        value: Wide,
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
        index: Small,
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
        bits: Small,
    },
    Lookahead {
        to: Place,
        skip: u32,
        need: u32,
    },
    Advance(Small),
    Verify {
        cond: Small,
        error: Small,
    },
    CheckStackLast(u32),
    Reject,
    Emit(u32),
    EmitStack(u32),
    RegisterRead {
        register: u32,
        index: Small,
        to: u32,
        words: u32,
    },
    RegisterWriteSmall {
        register: u32,
        index: Small,
        value: Small,
    },
    RegisterWrite {
        register: u32,
        index: Small,
        value: Wide,
    },
    Count {
        counter: u32,
        index: Small,
    },
    ExecuteMeter {
        meter: u32,
        index: Small,
        to: Place,
    },
    ReadDirectMeter {
        meter: u32,
        to: Place,
    },
    Hash {
        to: Place,
        algorithm: HashAlgorithm,
        base: Small,
        data: Vec<HashPart>,
        max: Small,
    },
    Random {
        to: Place,
        low: Small,
        high: Small,
    },
    VerifyChecksum {
        cond: Small,
        data: Vec<HashPart>,
        checksum: Small,
        algorithm: HashAlgorithm,
        with_payload: bool,
    },
    UpdateChecksum {
        cond: Small,
        data: Vec<HashPart>,
        to: Place,
        valid: Option<u32>,
        algorithm: HashAlgorithm,
        with_payload: bool,
    },
    MarkToDrop,
    Clone {
        session: Small,
        field_list: Option<u32>,
    },
    Resubmit(Option<u32>),
    Recirculate(Option<u32>),
    Digest {
        digest: u32,
        values: Vec<Wide>,
    },
    Truncate(Small),
    /// Only the trace shows it.
    Log,
    Assert(Small),
}
