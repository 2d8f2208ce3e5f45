//! Runs the programs of `tests/golden`, and compares every output packet with bmv2's recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions, stf};
use netkv_p4::{Options, compile_file};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn matches_bmv2(name: &str) {
    run(&golden(), name);
}

fn switch(directory: &Path, name: &str) -> Switch {
    let path = directory.join(format!("{name}.p4"));
    let compiled = compile_file(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let program = Arc::new(compiled.program);
    Switch::new(program, SwitchOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Compiles `name.p4` of a directory, and runs `name.stf` on it.
fn run(directory: &Path, name: &str) {
    let mut switch = switch(directory, name);
    let text =
        std::fs::read_to_string(directory.join(format!("{name}.stf"))).expect("the STF file");
    let report = stf::run(&mut switch, &text, name).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{report}");
    assert!(report.packets > 0, "{name}.stf sends nothing");
}

#[test]
fn operators_of_every_width_match_bmv2() {
    matches_bmv2("arith");
}

#[test]
fn cache_hits_and_misses_match_bmv2() {
    matches_bmv2("cache_read");
}

#[test]
fn return_exit_and_copy_out_match_bmv2() {
    matches_bmv2("calls");
}

/// Bytes of the fields `both` and `withinvalid` in the reply of `hashes.p4`.
const STALE: std::ops::Range<usize> = 22..28;

/// `hash` reads fields of invalid headers. In bmv2, they contain the values of an earlier packet
/// that used the same memory, or 0. Which packet that was depends on the timing of the recording.
/// Hence a reply may differ from the recording, but only in these two hashes. Then the recorded
/// hash must be the one over the header of some earlier packet.
#[test]
fn hashes_and_checksums_match_bmv2() {
    let mut switch = switch(&golden(), "hashes");
    let text = std::fs::read_to_string(golden().join("hashes.stf")).expect("the STF file");
    let packets: Vec<Vec<u8>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("packet 0 "))
        .map(|hex| bytes(hex.trim()))
        .collect();
    let report = stf::run(&mut switch, &text, "hashes").unwrap_or_else(|e| panic!("{e}"));
    let earlier: Vec<&[u8]> =
        packets.iter().filter(|p| p[0] == 1 && p.len() >= 30).map(|p| &p[8..30]).collect();
    let mut stale = 0;
    for mismatch in &report.mismatches {
        let (Some(expected), Some(actual)) = (&mismatch.expected, &mismatch.actual) else {
            panic!("{report}");
        };
        let (expected, actual) = (bytes(expected.trim_end_matches([' ', '$'])), bytes(actual));
        assert_eq!(expected[..STALE.start], actual[..STALE.start], "{report}");
        assert_eq!(expected[STALE.end..], actual[STALE.end..], "{report}");
        // In the reply, x + 1 follows `out_t`, `op` and `f`.
        let x =
            u32::from_be_bytes([actual[31], actual[32], actual[33], actual[34]]).wrapping_sub(1);
        let explained = earlier.iter().any(|b| {
            let (y, key) = b.split_at(6);
            let input = [&x.to_be_bytes()[..], key, y].concat();
            crc32(&input).to_be_bytes() == expected[STALE.start..STALE.start + 4]
        });
        assert!(explained, "{mismatch}");
        stale += 1;
    }
    assert_eq!((report.packets, stale), (200, 33));
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

fn crc32(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn parser_errors_in_ingress_match_bmv2() {
    matches_bmv2("parse");
}

#[test]
fn register_state_across_packets_matches_bmv2() {
    matches_bmv2("registers");
}

#[test]
fn replicated_packets_match_bmv2() {
    matches_bmv2("replicate");
}

#[test]
fn table_lookups_match_bmv2() {
    matches_bmv2("tables");
}

#[test]
fn constructs_without_a_recorded_program_work_as_specified() {
    run(&golden().join("../p4"), "features");
}
