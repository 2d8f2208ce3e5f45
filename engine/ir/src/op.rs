//! Operations of a basic block: assignments, header and packet operations, extern calls.

use serde::{Deserialize, Serialize};

use crate::{CounterId, DigestId, Expr, HeaderId, MeterId, Place, RegisterId, StackId, Word};

/// An operation.
///
/// In the parser, `Extract*`, `Lookahead`, `Advance` and `Verify` may fail. On failure,
/// `standard_metadata.parser_error` becomes the index of the error, and the parser graph ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// `place = expr`; both have the same width.
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
    /// Write a field (or the validity) of stack element `index`. An index out of range is ignored.
    StoreElement {
        /// The stack.
        stack: StackId,
        /// Index of the element.
        index: Expr,
        /// Place of the field in element 0.
        place: Place,
        /// Value.
        value: Expr,
    },
    /// Copy a header and its validity to another header of the same type.
    CopyHeader {
        /// Target.
        to: HeaderId,
        /// Source.
        from: HeaderId,
    },
    /// Copy words: a whole struct, or a stack with its `nextIndex`. The areas do not overlap.
    CopyWords {
        /// Target.
        to: Word,
        /// Source.
        from: Word,
        /// Number of words.
        words: u32,
    },
    /// Set words to 0: a local whose declaration is reached again, or an `out` parameter.
    ZeroWords {
        /// First word.
        to: Word,
        /// Number of words.
        words: u32,
    },
    /// `setValid()`: an invalid header becomes valid with all fields 0. A valid one is unchanged.
    SetValid(HeaderId),
    /// `setInvalid()`: sets the validity and all fields to 0.
    SetInvalid(HeaderId),
    /// `setValid()`/`setInvalid()` on a stack element with run-time index.
    SetValidElement {
        /// The stack.
        stack: StackId,
        /// Index of the element; an index out of range is ignored.
        index: Expr,
        /// `setValid()` if true.
        valid: bool,
    },
    /// `stack.push_front(count)`: moves the elements up and makes the first `count` invalid.
    /// `nextIndex` grows by `count`, at most to the size of the stack.
    PushFront {
        /// The stack.
        stack: StackId,
        /// Number of elements.
        count: u32,
    },
    /// `stack.pop_front(count)`.
    PopFront {
        /// The stack.
        stack: StackId,
        /// Number of elements.
        count: u32,
    },
    /// `packet.extract(header)`. Error PacketTooShort if bits are missing.
    Extract(HeaderId),
    /// `packet.extract(stack.next)`. Error StackOutOfBounds if the stack is full.
    ExtractNext(StackId),
    /// `packet.extract(header, bits)` for a header with one varbit. Errors, in bmv2's order:
    ///
    /// 1. ParserInvalidArgument if `bits` is not a multiple of 8,
    /// 2. PacketTooShort if bits are missing,
    /// 3. HeaderTooShort if `bits` exceeds the maximum width.
    ExtractVarbit {
        /// The header.
        header: HeaderId,
        /// Width of the varbit in bits (32-bit expression).
        bits: Expr,
    },
    /// `packet.lookahead<T>()` of a scalar. The lookahead of a struct is one operation per field.
    Lookahead {
        /// Target.
        to: Place,
        /// Offset of the scalar from the cursor, in bits.
        skip: u32,
        /// Size of the whole type in bits. Error PacketTooShort if the packet has fewer left.
        need: u32,
    },
    /// `packet.advance(bits)`.
    Advance(Expr),
    /// `verify(cond, error)`.
    Verify {
        /// Condition, width 1.
        cond: Expr,
        /// Index of the error, width 16.
        error: Expr,
    },
    /// Check before the parser reads `stack.last` or `stack.lastIndex`: error StackOutOfBounds if
    /// `nextIndex` is 0.
    CheckStackLast(StackId),
    /// `transition reject`. The graph ends and the parser error stays NoError.
    Reject,
    /// `packet.emit(header)`: appends the header if it is valid.
    Emit(HeaderId),
    /// `packet.emit(stack)`: appends all valid elements.
    EmitStack(StackId),
    /// `register.read`. If the index is out of range, `to` is unchanged.
    RegisterRead {
        /// The register.
        register: RegisterId,
        /// 32-bit index.
        index: Expr,
        /// Target.
        to: Place,
    },
    /// `register.write`. An index out of range is ignored.
    RegisterWrite {
        /// The register.
        register: RegisterId,
        /// 32-bit index.
        index: Expr,
        /// Value.
        value: Expr,
    },
    /// `counter.count(index)`: adds one packet and the packet's length at ingress in bytes.
    Count {
        /// The counter.
        counter: CounterId,
        /// Index.
        index: Expr,
    },
    /// `meter.execute_meter(index, result)`.
    ExecuteMeter {
        /// The meter.
        meter: MeterId,
        /// Index.
        index: Expr,
        /// Colour: 0 green, 1 yellow, 2 red.
        to: Place,
    },
    /// `direct_meter.read(result)` in an action of its table: the colour computed at the hit.
    ReadDirectMeter {
        /// The meter.
        meter: MeterId,
        /// Result.
        to: Place,
    },
    /// `hash(result, algorithm, base, data, max)`: `base + H mod max`, or `base` if `max` is 0.
    Hash {
        /// Result.
        to: Place,
        /// Hash algorithm.
        algorithm: HashAlgorithm,
        /// Smallest result.
        base: Expr,
        /// Hashed data, in order.
        data: Vec<HashInput>,
        /// Number of possible results.
        max: Expr,
    },
    /// `random(result, low, high)`, inclusive.
    Random {
        /// Result.
        to: Place,
        /// Smallest result.
        low: Expr,
        /// Largest result.
        high: Expr,
    },
    /// `verify_checksum`: on a mismatch, sets `checksum_error` to 1.
    VerifyChecksum {
        /// Condition, width 1: if it is 0, nothing is verified.
        cond: Expr,
        /// Data under the checksum, in order.
        data: Vec<HashInput>,
        /// Checksum in the packet.
        checksum: Expr,
        /// Hash algorithm.
        algorithm: HashAlgorithm,
        /// The data includes the payload after the parsed headers.
        with_payload: bool,
    },
    /// `update_checksum`.
    UpdateChecksum {
        /// Condition, width 1: if it is 0, nothing is updated.
        cond: Expr,
        /// Data under the checksum, in order.
        data: Vec<HashInput>,
        /// Target.
        to: Place,
        /// If given, the target is written only while this header is valid.
        header: Option<HeaderId>,
        /// Hash algorithm.
        algorithm: HashAlgorithm,
        /// The data includes the payload.
        with_payload: bool,
    },
    /// `mark_to_drop`: `egress_spec = 511`, `mcast_grp = 0`.
    MarkToDrop,
    /// `clone` or `clone_preserving_field_list`. Only the last call of a pipeline has an effect.
    Clone {
        /// Ingress to egress if true, otherwise egress to egress.
        ingress: bool,
        /// Clone session.
        session: Expr,
        /// Field list to preserve, if any.
        field_list: Option<u32>,
    },
    /// `resubmit_preserving_field_list`.
    Resubmit {
        /// Field list to preserve, if any.
        field_list: Option<u32>,
    },
    /// `recirculate_preserving_field_list`.
    Recirculate {
        /// Field list to preserve, if any.
        field_list: Option<u32>,
    },
    /// `digest(receiver, data)`. The values are those at the call. Only the last digest of a
    /// packet is sent.
    Digest {
        /// Digest type.
        digest: DigestId,
        /// One value per member of the digest.
        values: Vec<Expr>,
    },
    /// `truncate(bytes)`.
    Truncate(Expr),
    /// `log_msg(format, args)`: adds a line to the trace.
    Log {
        /// Text with `{}` for each argument.
        format: String,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `assert` or `assume`: if the expression is 0, the trace reports it and the assertion's
    /// count grows.
    Assert {
        /// Width 1.
        cond: Expr,
        /// Index into [`crate::Program::assertions`].
        assertion: u32,
    },
}

/// One member of a hash's or checksum's data list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HashInput {
    /// The value. A varbit field contributes its current bits only.
    pub value: Expr,
    /// Header of the field, if the value is one. The field is omitted while the header is invalid.
    pub header: Option<HeaderId>,
    /// Word with the current width in bits, if the value is a varbit.
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
