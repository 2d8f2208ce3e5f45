//! The two programs of DistReach: `tail.p4` answers requests that have passed the chain, `upper.p4`
//! passes requests on. The upper switch is the head of its chain: it gives every write its
//! sequence.
//!
//! The records of the entries are from an earlier incarnation, so every write is newer.

use netkv_wire::{Sequence, Stamp, bits};

use super::path::Path;
use super::write_back::{
    ANSWERING_PATHS, Frame, INCARNATION, WriteBack, client_stamp, generation_of,
};

/// Bits of a request's stamp between switches, where they have other names.
const STORED: u8 = bits::LATEST;
const SEQUENCED: u8 = bits::VALID;

/// Parameters of the incarnation: the chain's, none before it that continues its numbers, that of
/// the last loss, and the position of the switch.
const fn incarnation(position: u32) -> [u128; 4] {
    [INCARNATION as u128, 0, INCARNATION as u128, position as u128]
}

/// The tail is the second switch of its chain.
const TAIL_POSITION: u32 = 1;

/// How often the writes of cached keys are sent to the tail, with numbers a third of the range of
/// serial numbers apart. So each write is newer than the one before it, also if the sequence is
/// repeated.
const TURNS: u32 = 3;

/// The program `tail.p4`.
pub(super) static TAIL: WriteBack = WriteBack {
    name: "distreach-tail",
    paths: ANSWERING_PATHS,
    answers: true,
    record_incarnation: INCARNATION - 1,
    incarnation: &incarnation(TAIL_POSITION),
    chain: true,
    request_stamp: sequenced_stamp,
    turns: |path| if path.frame == Frame::Write && path.cached { TURNS } else { 1 },
    all_kinds: None,
    counted: &[],
};

/// The program `upper.p4`.
pub(super) static UPPER: WriteBack = WriteBack {
    name: "distreach-upper",
    paths: &[
        Path { name: "read", frame: Frame::Read, cached: true, sampled: false },
        Path { name: "write-cached", frame: Frame::Write, cached: true, sampled: false },
        Path { name: "write-uncached", frame: Frame::Write, cached: false, sampled: false },
        Path { name: "reply-cached", frame: Frame::Reply, cached: true, sampled: false },
        Path { name: "reply-uncached", frame: Frame::Reply, cached: false, sampled: false },
    ],
    answers: false,
    record_incarnation: INCARNATION - 1,
    incarnation: &incarnation(0),
    chain: true,
    request_stamp: |_, _, _, _| client_stamp(),
    turns: |_| 1,
    all_kinds: None,
    counted: &[],
};

/// The stamp with which the `n`-th request, in this turn, reaches the tail.
fn sequenced_stamp(path: &Path<Frame>, entry: u32, turn: u32, n: u32) -> Stamp {
    let (number, stored) = match path.frame {
        Frame::Write => (turn * (u32::MAX / TURNS) + n + 1, if path.cached { STORED } else { 0 }),
        Frame::Read | Frame::Reply => (0, 0),
    };
    let sequence = Sequence { incarnation: INCARNATION, number };
    // Between switches this field has the entry's generation in the switch before, and counts the
    // switches that the request has passed.
    let generation = if path.cached { generation_of(entry) } else { 0 };
    Stamp { sequence, generation: generation << 8 | TAIL_POSITION, bits: SEQUENCED | stored }
}
