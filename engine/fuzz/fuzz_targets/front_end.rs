//! Any text is a program or has errors.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use netkv_difftest::fuzz_targets;

fuzz_target!(|data: &[u8]| -> Corpus {
    match std::str::from_utf8(data) {
        Ok(text) => {
            fuzz_targets::front_end(text);
            Corpus::Keep
        }
        Err(_) => Corpus::Reject,
    }
});

// Half of the mutations are libFuzzer's own, on bytes; the others know statements and words.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let Ok(text) = std::str::from_utf8(&data[..size]) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    let mutated = fuzz_targets::mutate(text, u64::from(seed));
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated.as_bytes()[..size]);
    size
});
