//! `farreach.p4`: the switch answers reads and writes of cached keys.

use super::all_kinds_write_back::FRAMES;
use super::write_back::{ANSWERING_PATHS, INCARNATION, WriteBack, client_stamp};

/// The program `farreach.p4`.
pub(super) static FARREACH: WriteBack = WriteBack {
    name: "farreach",
    paths: ANSWERING_PATHS,
    answers: true,
    record_incarnation: INCARNATION,
    incarnation: &[INCARNATION as u128],
    chain: false,
    request_stamp: |_, _, _, _| client_stamp(),
    turns: |_| 1,
    all_kinds: Some(FRAMES),
    counted: &[
        "NetkvIngress.drop.reasons",
        "NetkvEgress.drop.reasons",
        "NetkvEgress.sequence.counters",
        "NetkvEgress.sketch.row0.cells",
        "NetkvEgress.sketch.row1.cells",
        "NetkvEgress.sketch.row2.cells",
        "NetkvEgress.sketch.row3.cells",
        "NetkvEgress.dedup.cells",
        "NetkvEgress.applied_sequence.cells",
        "NetkvEgress.entry_state.cells",
        "NetkvEgress.frequency.cells",
        "NetkvEgress.entry.max_sequence.cells",
        "NetkvEgress.entry.reported_snapshot.cells",
        "NetkvEgress.entry.entry_flags.cells",
        "NetkvEgress.entry.record_sequence.cells",
        "NetkvEgress.entry.values.array0.cells",
        "NetkvEgress.entry.values.array1.cells",
        "NetkvEgress.entry.values.array2.cells",
        "NetkvEgress.entry.values.array3.cells",
        "NetkvEgress.entry.values.array4.cells",
        "NetkvEgress.entry.values.array5.cells",
        "NetkvEgress.entry.values.array6.cells",
        "NetkvEgress.entry.values.array7.cells",
    ],
};
