//! Operations of a block, externs included.

use serde::{Deserialize, Serialize};

use crate::{CounterId, DigestId, Expr, HeaderId, MeterId, Place, RegisterId, StackId, Word};

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
