//! `farreach.p4`: the switch answers reads and writes of cached keys.

use netkv_wire::Key;

use super::all_kinds_write_back::{AFTER_SNAPSHOT_POINT, REDIRECTING, SNAPSHOT, WITH_SESSION};
use super::farreach_by_hand::{Cached, FarReach, Settings, Snapshot};
use super::path::Sampling;
use super::rack;
use super::write_back::{ANSWERING_PATHS, ByHand, EPOCH, INCARNATION, WriteBack, client_stamp};
use crate::case::{ALL_KINDS, Case};

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
    by_hand: Some(by_hand),
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

fn by_hand(case: &Case, sampling: Sampling) -> Box<dyn ByHand> {
    let settings = Settings { sampling, epoch: EPOCH, is_open: true, incarnation: INCARNATION };
    let mut pipeline = FarReach::new(rack::forwarding(case), settings);
    WITH_SESSION.into_iter().for_each(|port| pipeline.insert_session(port));
    if case.path == ALL_KINDS {
        let (port, number) = AFTER_SNAPSHOT_POINT;
        pipeline.set_pipeline(port, number, Snapshot::Taking(SNAPSHOT));
        let (port, number) = REDIRECTING;
        pipeline.set_pipeline(port, number, Snapshot::Redirect);
    }
    Box::new(pipeline)
}

impl ByHand for FarReach {
    fn insert(&mut self, key: Key, entry: u16, generation: u32) {
        self.insert(key, Cached { entry, generation });
    }

    fn set_sequence(&mut self, counter: u16, last: u32) {
        self.set_sequence(counter, last);
    }
}
