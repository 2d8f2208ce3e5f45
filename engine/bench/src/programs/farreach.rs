//! `farreach.p4`: the switch answers reads and writes of cached keys.

use super::write_back::{ANSWERING_PATHS, INCARNATION, WriteBack, client_stamp};

/// The program `farreach.p4`.
pub(super) static FARREACH: WriteBack = WriteBack {
    name: "farreach",
    paths: ANSWERING_PATHS,
    answers: true,
    record_incarnation: INCARNATION,
    incarnation: &[INCARNATION as u128],
    chain: false,
    request_stamp: |_, _, _| client_stamp(),
    turns: |_| 1,
};
