//! Bytes choose a program, its state and packets; both executors must answer alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netkv_difftest::fuzz_targets;

fuzz_target!(|data: &[u8]| fuzz_targets::packet_path(data));
