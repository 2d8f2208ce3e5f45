//! The intermediate representation between the P4 front end and the executors.
//!
//! One program is six control-flow graphs (one per v1model block) over one flat state area.
//! Everything that P4 leaves to the compiler is settled here: calls are inlined with
//! copy-in/copy-out made explicit, `exit` and `return` are jumps, expressions are pure trees,
//! and every variable has a fixed place. An executor needs no symbol table.
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

use serde::{Deserialize, Serialize};

mod display;

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

/// A whole v1model program, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the main source file, for traces.
    pub name: String,
    /// Source files that a [`Span`] refers to.
    pub files: Vec<String>,
    /// Number of words in the state area.
    pub state_words: u32,
    /// Named places: every header field, metadata field, local and parameter, for traces and tests.
    pub vars: Vec<Var>,
    /// Header instances, stack elements included (consecutive ids within one stack).
    pub headers: Vec<Header>,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Names of errors; index 0 is `NoError`. Order: core.p4's, then the program's.
    pub errors: Vec<String>,
    /// Where the v1model intrinsic metadata lives.
    pub standard_metadata: StandardMetadata,
    /// User metadata places kept by a field list: `(list id, place)`, from `@field_list`.
    pub field_lists: Vec<FieldList>,
    /// Match-action tables.
    pub tables: Vec<Table>,
    /// Actions that a table can run.
    pub actions: Vec<Action>,
    /// `register` instances.
    pub registers: Vec<Register>,
    /// `counter` and `direct_counter` instances.
    pub counters: Vec<Counter>,
    /// `meter` and `direct_meter` instances.
    pub meters: Vec<Meter>,
    /// Digest types, one per `digest<T>` type name.
    pub digests: Vec<Digest>,
    /// Action profiles and selectors.
    pub action_profiles: Vec<ActionProfile>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// `@controller_header("packet_in" | "packet_out")` types.
    pub controller_headers: Vec<ControllerHeader>,
    /// The parser. Its exit is [`Terminator::Exit`]; errors leave by themselves (see [`Op`]).
    pub parser: Cfg,
    /// `VerifyChecksum`.
    pub verify_checksum: Cfg,
    /// Ingress control.
    pub ingress: Cfg,
    /// Egress control.
    pub egress: Cfg,
    /// `ComputeChecksum`.
    pub compute_checksum: Cfg,
    /// Deparser: a graph whose packet operations are [`Op::Emit`] and [`Op::EmitStack`].
    pub deparser: Cfg,
}

/// A named place in the state area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Var {
    /// Dotted source name, e.g. `hdr.ipv4.ttl`, `meta.cached`, `Ingress.lookup.tmp`.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// A scalar's fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// First word.
    pub word: Word,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// A header instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Dotted source name, e.g. `hdr.ipv4` or `hdr.v[3]`.
    pub name: String,
    /// Name of the header type.
    pub type_name: String,
    /// Word that holds the validity (0 or 1).
    pub valid: Word,
    /// Fields in wire order.
    pub fields: Vec<HeaderField>,
    /// First word of the fields' area (they are contiguous from here).
    pub base: Word,
    /// Words from `base` that belong to the fields (and the varbit's length word).
    pub words: u32,
}

/// A field of a header instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeaderField {
    /// Field name without the header.
    pub name: String,
    /// Where it is. For a varbit: room for the maximum width, value right-aligned
    /// (the current bits are the low `current width` bits).
    pub place: Place,
    /// For `varbit<N>`: the word that holds the current width in bits.
    pub varbit_length: Option<Word>,
    /// Two's complement (`int<W>`), only for display.
    pub signed: bool,
}

/// A header stack. Elements are headers `first .. first + size` with equal layout:
/// place of a field in element i = place in element 0 + i * stride (validity too).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Dotted source name.
    pub name: String,
    /// First element.
    pub first: HeaderId,
    /// Number of elements.
    pub size: u32,
    /// Distance between the places of two neighbours, in words.
    pub stride: u32,
    /// Word that holds `nextIndex`.
    pub next_index: Word,
}

/// Places of v1model's `standard_metadata_t` fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StandardMetadata {
    pub ingress_port: Place,
    pub egress_spec: Place,
    pub egress_port: Place,
    pub instance_type: Place,
    pub packet_length: Place,
    pub enq_timestamp: Place,
    pub enq_qdepth: Place,
    pub deq_timedelta: Place,
    pub deq_qdepth: Place,
    pub ingress_global_timestamp: Place,
    pub egress_global_timestamp: Place,
    pub mcast_grp: Place,
    pub egress_rid: Place,
    pub checksum_error: Place,
    pub parser_error: Place,
    pub priority: Place,
}

/// The metadata that one `@field_list` index preserves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldList {
    /// The index in the annotation.
    pub id: u32,
    /// Preserved places (of user and standard metadata).
    pub places: Vec<Place>,
    /// Preserved headers inside metadata, whole (validity too): `(word, words)`.
    pub regions: Vec<(Word, u32)>,
}

/// A position in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Index into [`Program::files`].
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
    /// Key expressions, one per [`Table::keys`], same order and widths.
    pub keys: Vec<Expr>,
    /// Word that receives 1 on hit and 0 on miss.
    pub hit: Word,
    /// Word that receives the index into [`Table::actions`] of the action that runs.
    pub action_run: Word,
    /// One target per [`Table::actions`], same order.
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
    /// Member of the value set with this index in [`Program::value_sets`]. Only as the single
    /// pattern of its case: it stands for all keys of the select.
    ValueSet(u32),
}

/// A constant: little-endian 64-bit words, high bits 0, `ceil(width / 64)` of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Value {
    /// Width in bits.
    pub width: u32,
    /// Words, least significant first.
    pub words: Vec<u64>,
}

/// A pure expression. The result is an unsigned bit pattern of [`Expr::width`] bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A place. Reading a field of an invalid header is lowered to
    /// [`Expr::Mux`] only where the language needs 0; executors keep fields of invalid headers 0
    /// (see [`Op::SetInvalid`]).
    Load(Place),
    /// A field of stack element `index` (element 0's place given). Out of range reads 0.
    LoadElement {
        /// The stack.
        stack: StackId,
        /// Which element, any width.
        index: Box<Expr>,
        /// Place in element 0 (of a field or of the validity word with width 1).
        place: Place,
    },
    /// One operand.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        arg: Box<Expr>,
        /// Result width.
        width: u32,
    },
    /// Two operands.
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left.
        left: Box<Expr>,
        /// Right (a shift amount may have another width than `left`).
        right: Box<Expr>,
        /// Result width: 1 for comparisons.
        width: u32,
    },
    /// `cond ? then : otherwise`; both are pure, so an executor may evaluate both.
    Mux {
        /// Width 1.
        cond: Box<Expr>,
        /// When 1.
        then: Box<Expr>,
        /// When 0.
        otherwise: Box<Expr>,
    },
    /// `arg[high:low]`; width is `high - low + 1`.
    Slice {
        /// Operand.
        arg: Box<Expr>,
        /// Highest bit.
        high: u32,
        /// Lowest bit.
        low: u32,
    },
    /// `left ++ right`.
    Concat(Box<Expr>, Box<Expr>),
    /// `packet.length()` in the parser: bytes of the packet (32 bits).
    PacketLength,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `~`
    Not,
    /// `-`, modulo 2^w.
    Neg,
    /// Cut or extend with zeros to the result width.
    ZeroExtend,
    /// Cut or extend with the sign bit to the result width.
    SignExtend,
}

/// Operators with two operands. Signed variants read operands as two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Unsigned, only on constants-positive operands (P4 has no run-time division in v1model, bmv2 accepts it).
    Div,
    Mod,
    SatAddUnsigned,
    SatSubUnsigned,
    SatAddSigned,
    SatSubSigned,
    And,
    Or,
    Xor,
    /// Shifts: an amount of the width or more gives 0 (or all sign bits for `SarSigned`).
    Shl,
    Shr,
    SarSigned,
    Eq,
    Ne,
    LtUnsigned,
    LeUnsigned,
    LtSigned,
    LeSigned,
}

/// An operation. In the parser, `Extract*`, `Lookahead`, `Advance` and `Verify` may fail: then
/// `standard_metadata.parser_error` is set to the error's index and the parser graph ends at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// `place = expr`, equal widths.
    Assign {
        /// Target.
        to: Place,
        /// Value.
        value: Expr,
    },
    /// `place[high:low] = expr`.
    AssignSlice {
        /// Target.
        to: Place,
        /// Highest bit.
        high: u32,
        /// Lowest bit.
        low: u32,
        /// Value of `high - low + 1` bits.
        value: Expr,
    },
    /// A field of stack element `index` (or its validity). Out of range: nothing.
    StoreElement {
        /// The stack.
        stack: StackId,
        /// Which element.
        index: Expr,
        /// Place in element 0.
        place: Place,
        /// Value.
        value: Expr,
    },
    /// Copy a header with validity between two headers of one type.
    CopyHeader {
        /// Target.
        to: HeaderId,
        /// Source.
        from: HeaderId,
    },
    /// Copy `words` words (whole structs, stacks with `nextIndex`); areas do not overlap.
    CopyWords {
        /// Target.
        to: Word,
        /// Source.
        from: Word,
        /// How many.
        words: u32,
    },
    /// Set words to 0 (a local that comes into scope again, an `out` parameter).
    ZeroWords {
        /// First.
        to: Word,
        /// How many.
        words: u32,
    },
    /// `setValid()`: an invalid header turns valid with all fields 0; a valid one stays as it is.
    SetValid(HeaderId),
    /// `setInvalid()`: validity and all fields to 0.
    SetInvalid(HeaderId),
    /// `setValid()`/`setInvalid()` on a stack element with run-time index.
    SetValidElement {
        /// The stack.
        stack: StackId,
        /// Which element; out of range: nothing.
        index: Expr,
        /// Valid or invalid.
        valid: bool,
    },
    /// `stack.push_front(count)`: shifts up, new front elements invalid, `nextIndex` grows (capped).
    PushFront {
        /// The stack.
        stack: StackId,
        /// By how many.
        count: u32,
    },
    /// `stack.pop_front(count)`.
    PopFront {
        /// The stack.
        stack: StackId,
        /// By how many.
        count: u32,
    },
    /// `packet.extract(header)`. PacketTooShort when bits are missing.
    Extract(HeaderId),
    /// `packet.extract(stack.next)`; StackOutOfBounds past the end.
    ExtractNext(StackId),
    /// `packet.extract(header, bits)` for a header with one varbit.
    /// Not a multiple of 8 → ParserInvalidArgument; too few bytes → PacketTooShort; over the
    /// maximum → HeaderTooShort (checked in this order as bmv2 does).
    ExtractVarbit {
        /// The header.
        header: HeaderId,
        /// Width of the varbit in bits (32-bit expression).
        bits: Expr,
    },
    /// `packet.lookahead<T>()` into a place; scalars only (structs become several with offsets).
    Lookahead {
        /// Target.
        to: Place,
        /// Bits to skip before it, from the cursor.
        skip: u32,
        /// Bits that must be there from the cursor (whole type), else PacketTooShort.
        need: u32,
    },
    /// `packet.advance(bits)`.
    Advance(Expr),
    /// `verify(cond, error)`.
    Verify {
        /// Width 1.
        cond: Expr,
        /// Width-16 index of the error.
        error: Expr,
    },
    /// Check for `stack.last` / `stack.lastIndex` / `stack.next` reads in the parser: when
    /// `nextIndex` is 0, StackOutOfBounds.
    CheckStackLast(StackId),
    /// Enter reject explicitly (`transition reject`): parser error NoError stays, graph ends.
    Reject,
    /// `packet.emit(header)` if valid.
    Emit(HeaderId),
    /// `packet.emit(stack)`: all valid elements.
    EmitStack(StackId),
    /// `register.read`; out of range leaves `to` unchanged.
    RegisterRead {
        /// Which.
        register: RegisterId,
        /// 32-bit index.
        index: Expr,
        /// Target.
        to: Place,
    },
    /// `register.write`; out of range is ignored.
    RegisterWrite {
        /// Which.
        register: RegisterId,
        /// 32-bit index.
        index: Expr,
        /// Value.
        value: Expr,
    },
    /// `counter.count(index)`: one packet, ingress length in bytes.
    Count {
        /// Which.
        counter: CounterId,
        /// Index.
        index: Expr,
    },
    /// `meter.execute_meter(index, result)`.
    ExecuteMeter {
        /// Which.
        meter: MeterId,
        /// Index.
        index: Expr,
        /// 0 green, 1 yellow, 2 red.
        to: Place,
    },
    /// `direct_meter.read(result)` inside an action of its table: colour computed at the hit.
    ReadDirectMeter {
        /// Which.
        meter: MeterId,
        /// Result.
        to: Place,
    },
    /// `hash(result, algorithm, base, data, max)`: `base + H mod max`, max 0 gives base.
    Hash {
        /// Result.
        to: Place,
        /// Which.
        algorithm: HashAlgorithm,
        /// Base.
        base: Expr,
        /// Data in order.
        data: Vec<HashInput>,
        /// Max.
        max: Expr,
    },
    /// `random(result, low, high)`, inclusive.
    Random {
        /// Result.
        to: Place,
        /// Low.
        low: Expr,
        /// High.
        high: Expr,
    },
    /// `verify_checksum`: on mismatch sets `checksum_error` to 1.
    VerifyChecksum {
        /// Width 1.
        cond: Expr,
        /// Data in order.
        data: Vec<HashInput>,
        /// What the packet says.
        checksum: Expr,
        /// Which.
        algorithm: HashAlgorithm,
        /// The payload after the parsed headers is part of the data.
        with_payload: bool,
    },
    /// `update_checksum`.
    UpdateChecksum {
        /// Width 1.
        cond: Expr,
        /// Data in order.
        data: Vec<HashInput>,
        /// Target.
        to: Place,
        /// The target is written only while this header is valid, if given.
        header: Option<HeaderId>,
        /// Which.
        algorithm: HashAlgorithm,
        /// The payload is part of the data.
        with_payload: bool,
    },
    /// `mark_to_drop`: `egress_spec = 511`, `mcast_grp = 0`.
    MarkToDrop,
    /// `clone` / `clone_preserving_field_list`. The last call of a pipeline wins.
    Clone {
        /// Ingress to egress (else egress to egress).
        ingress: bool,
        /// Session.
        session: Expr,
        /// Preserved list, if any.
        field_list: Option<u32>,
    },
    /// `resubmit_preserving_field_list`.
    Resubmit {
        /// Preserved list, if any.
        field_list: Option<u32>,
    },
    /// `recirculate_preserving_field_list`.
    Recirculate {
        /// Preserved list, if any.
        field_list: Option<u32>,
    },
    /// `digest(receiver, data)`. Values are taken at the call. The last one of a packet wins.
    Digest {
        /// Type.
        digest: DigestId,
        /// One per member of the digest.
        values: Vec<Expr>,
    },
    /// `truncate(bytes)`.
    Truncate(Expr),
    /// `log_msg(format, args)`: into the trace.
    Log {
        /// With `{}` for each argument.
        format: String,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `assert` / `assume`: a false one is reported in the trace and counted.
    Assert(Expr),
}

/// One member of a hash's or checksum's data list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HashInput {
    /// The value; a varbit field contributes its current bits only.
    pub value: Expr,
    /// If the value is a field of a header, it is left out while that header is invalid.
    pub header: Option<HeaderId>,
    /// If the value is a varbit: the word with its current width.
    pub varbit_length: Option<Word>,
}

/// v1model hash algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum HashAlgorithm {
    Crc32,
    Crc32Custom,
    Crc16,
    Crc16Custom,
    Random,
    Identity,
    Csum16,
    Xor16,
}

/// Control-plane identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Full control-plane name, e.g. `Ingress.lookup.cache`.
    pub name: String,
    /// Shortest unique suffix.
    pub alias: String,
    /// P4Info id, prefix included.
    pub id: u32,
    /// Structured and plain annotations other than those the compiler consumes, as source text.
    pub annotations: Vec<String>,
}

/// How a key is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// Input of an action selector's hash; not part of an entry.
    Selector,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableKey {
    /// Control-plane name (`@name` or source text such as `hdr.kv.key`).
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Kind.
    pub kind: MatchKind,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Names and id.
    pub identity: Identity,
    /// Keys, selector keys included.
    pub keys: Vec<TableKey>,
    /// Actions it may run; index is what [`Apply::action_run`] tells.
    pub actions: Vec<TableAction>,
    /// Default: index into `actions` and data.
    pub default_action: ActionCall,
    /// The default cannot be changed.
    pub const_default: bool,
    /// Entries from the source, in order; `const_entries` tells whether they are fixed.
    pub entries: Vec<InitialEntry>,
    /// `const entries` (no insertion at all).
    pub const_entries: bool,
    /// Maximum number of entries.
    pub size: u64,
    /// Direct counter.
    pub direct_counter: Option<CounterId>,
    /// Direct meter.
    pub direct_meter: Option<MeterId>,
    /// `implementation`: index into [`Program::action_profiles`].
    pub action_profile: Option<u32>,
    /// `support_timeout`.
    pub idle_timeout: bool,
}

/// An action in a table's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableAction {
    /// Which.
    pub action: ActionId,
    /// `@tableonly`: not as default.
    pub table_only: bool,
    /// `@defaultonly`: not in entries.
    pub default_only: bool,
}

/// An action as the control plane sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Names and id.
    pub identity: Identity,
    /// Control-plane parameters.
    pub params: Vec<ActionParam>,
}

/// A control-plane parameter of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionParam {
    /// Name.
    pub name: String,
    /// Width in bits.
    pub width: u32,
}

/// An action with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionCall {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// One per control-plane parameter.
    pub data: Vec<Value>,
}

/// An entry given in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InitialEntry {
    /// One per key.
    pub matches: Vec<Match>,
    /// What it runs.
    pub action: ActionCall,
    /// Larger wins. For `const entries` without `priority`: number of entries minus position.
    pub priority: u32,
}

/// What an entry says of one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Match {
    /// Equal.
    Exact(Value),
    /// The `prefix` highest bits are equal.
    Lpm(Value, u32),
    /// Equal where the mask is 1.
    Ternary(Value, Value),
    /// Inclusive.
    Range(Value, Value),
    /// Equal, or anything.
    Optional(Option<Value>),
}

/// A register array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Register {
    /// Names and id.
    pub identity: Identity,
    /// Width of an element.
    pub width: u32,
    /// Number of elements.
    pub size: u32,
}

/// What a counter or meter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum CounterUnit {
    Packets,
    Bytes,
    Both,
}

/// A counter array, or a direct counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Names and id.
    pub identity: Identity,
    /// Unit.
    pub unit: CounterUnit,
    /// Number of elements; 0 for a direct counter.
    pub size: u32,
    /// The table of a direct counter.
    pub direct: Option<TableId>,
}

/// A meter array, or a direct meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Names and id.
    pub identity: Identity,
    /// Packets or bytes.
    pub unit: CounterUnit,
    /// Number of elements; 0 for a direct meter.
    pub size: u32,
    /// The table of a direct meter.
    pub direct: Option<TableId>,
}

/// A digest type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Names and id.
    pub identity: Identity,
    /// Name of the struct type (empty for a tuple).
    pub type_name: String,
    /// Members: name and width.
    pub members: Vec<ActionParam>,
}

/// An action profile or selector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionProfile {
    /// Names and id.
    pub identity: Identity,
    /// Maximum number of members.
    pub size: u64,
    /// With groups, chosen by this hash over the selector keys.
    pub selector: Option<HashAlgorithm>,
    /// Tables that use it.
    pub tables: Vec<TableId>,
}

/// A parser value set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueSet {
    /// Names and id.
    pub identity: Identity,
    /// Keys: name, width, kind.
    pub keys: Vec<TableKey>,
    /// Maximum number of members.
    pub size: u64,
}

/// A controller header type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControllerHeader {
    /// Names and id; the name is `packet_in` or `packet_out`.
    pub identity: Identity,
    /// Fields in wire order (padding too).
    pub fields: Vec<ActionParam>,
}

impl Place {
    /// Number of words it takes.
    pub const fn words(self) -> u32 {
        self.width.div_ceil(64)
    }
}

impl Value {
    /// A constant from up to 128 bits, cut to `width`.
    pub fn new(width: u32, value: u128) -> Self {
        let mut words = vec![0u64; width.div_ceil(64) as usize];
        for (i, word) in words.iter_mut().enumerate().take(2) {
            *word = (value >> (64 * i)) as u64;
        }
        Self::from_words(width, words)
    }

    /// A constant from words, cut to `width`.
    pub fn from_words(width: u32, mut words: Vec<u64>) -> Self {
        words.resize(width.div_ceil(64) as usize, 0);
        if !width.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= (1u64 << (width % 64)) - 1;
        }
        Self { width, words }
    }

    /// A constant from big-endian bytes (any number of them), cut to `width`.
    pub fn from_bytes(width: u32, bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        for (i, byte) in bytes.iter().rev().enumerate() {
            words[i / 8] |= u64::from(*byte) << (8 * (i % 8));
        }
        Self::from_words(width, words)
    }

    /// Big-endian bytes, `ceil(width / 8)` of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.width.div_ceil(8) as usize;
        (0..count).rev().map(|i| (self.words[i / 8] >> (8 * (i % 8))) as u8).collect()
    }
}

impl Expr {
    /// Width of the result in bits.
    pub fn width(&self) -> u32 {
        match self {
            Expr::Const(value) => value.width,
            Expr::Load(place) | Expr::LoadElement { place, .. } => place.width,
            Expr::Unary { width, .. } | Expr::Binary { width, .. } => *width,
            Expr::Mux { then, .. } => then.width(),
            Expr::Slice { high, low, .. } => high - low + 1,
            Expr::Concat(left, right) => left.width() + right.width(),
            Expr::PacketLength => 32,
        }
    }
}
