//! The parts of a bit string: values, and bits of the received frame.

use std::ops::Range;

use cranelift_codegen::ir::Value;

/// Bits of a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) bits: u32,
    pub(super) source: Source,
}

/// Where the bits of a part are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The low bits of a value.
    Value(Value),
    /// At this bit of the received frame.
    Frame(u32),
}

/// Bytes of a string that are next to each other in the received frame, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameBytes {
    /// In the string.
    pub(super) bytes: Range<u32>,
    /// The first of them in the frame.
    pub(super) from: u32,
}

/// The whole bytes of a string that are in the received frame, in order.
pub(super) fn frame_bytes(parts: &[Part]) -> Vec<FrameBytes> {
    let mut found = Vec::new();
    let mut bit = 0;
    for part in parts {
        if let Source::Frame(from) = part.source
            && from % 8 == bit % 8
        {
            let bytes = bit.div_ceil(8)..(bit + part.bits) / 8;
            if !bytes.is_empty() {
                found.push(FrameBytes { from: from.div_ceil(8), bytes });
            }
        }
        bit += part.bits;
    }
    found
}

/// The parts of a string between two of its bits. A part that is a value is in it completely, or
/// not at all.
pub(super) fn parts_between(parts: &[Part], range: Range<u32>) -> Vec<Part> {
    let mut found = Vec::new();
    let mut bit = 0;
    for part in parts {
        let (start, end) = (bit.max(range.start), (bit + part.bits).min(range.end));
        if start < end {
            let source = match part.source {
                Source::Frame(from) => Source::Frame(from + start - bit),
                value @ Source::Value(_) => value,
            };
            debug_assert!(matches!(source, Source::Frame(_)) || end - start == part.bits);
            found.push(Part { bits: end - start, source });
        }
        bit += part.bits;
    }
    found
}
