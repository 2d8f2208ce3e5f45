//! Values that name their writer, so that every read can be checked.
//!
//! Bytes 0-1 are the client (0: the initial value), 2-5 its request number, 6-7 the length, 8-15 a
//! check word over these and the key; the rest is derived from the check word. A value that was
//! cut, mixed with another, or stored under another key is recognised.

use netkv_checker::WriteId;
use netkv_wire::Key;
use netkv_workload::{MAX_VALUE_SIZE, MIN_VALUE_SIZE, mix64};

/// [`mask`] of the words of a value of [`MAX_VALUE_SIZE`].
static MASKS: [u64; (MAX_VALUE_SIZE - MIN_VALUE_SIZE) / 8] = {
    let mut masks = [0; (MAX_VALUE_SIZE - MIN_VALUE_SIZE) / 8];
    let mut at = 0;
    while at < masks.len() {
        masks[at] = mask(at);
        at += 1;
    }
    masks
};

/// What a word after the first 16 bytes differs by from the check word, both in reversed order of
/// bytes: so many words are written or compared at a time, without reversing each.
const fn mask(number: usize) -> u64 {
    (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes()
}

/// Writes the value that `writer` writes to `key` into `value` (at least 16 bytes, all of it).
///
/// # Panics
///
/// If `value` is shorter than 16 bytes.
pub fn fill_value(key: &Key, writer: WriteId, value: &mut [u8]) {
    let length = value.len();
    let check = check_word(key, writer, length);
    value[0..2].copy_from_slice(&writer.client.to_be_bytes());
    value[2..6].copy_from_slice(&writer.request.to_be_bytes());
    value[6..8].copy_from_slice(&(length as u16).to_be_bytes());
    value[8..16].copy_from_slice(&check.to_be_bytes());
    let (words, rest) = value[MIN_VALUE_SIZE..].as_chunks_mut();
    let check = check.swap_bytes();
    for (word, mask) in words.iter_mut().zip(&MASKS) {
        *word = (check ^ mask).to_le_bytes();
    }
    // Longer values than those of a load generator are for tests.
    for (number, word) in words.iter_mut().enumerate().skip(MASKS.len()) {
        *word = (check ^ mask(number)).to_le_bytes();
    }
    for (byte, filler) in rest.iter_mut().zip((check ^ mask(words.len())).to_le_bytes()) {
        *byte = filler;
    }
}

/// The value of an unwritten key of the keyspace: servers generate it, clients expect it.
pub fn initial_value(key: &Key, value: &mut [u8]) {
    fill_value(key, WriteId::INITIAL, value);
}

/// The writer of `value` under `key`; `None` if [`fill_value`] does not write this value for any.
pub fn read_writer(key: &Key, value: &[u8]) -> Option<WriteId> {
    if value.len() < MIN_VALUE_SIZE {
        return None;
    }
    let writer = WriteId {
        client: u16::from_be_bytes([value[0], value[1]]),
        request: u32::from_be_bytes([value[2], value[3], value[4], value[5]]),
    };
    let check = check_word(key, writer, value.len());
    let (words, rest) = value[MIN_VALUE_SIZE..].as_chunks();
    let filler = check.swap_bytes();
    // Without a branch for each word, several are compared at a time.
    let differs = |word: &[u8; 8], mask: u64| u64::from_le_bytes(*word) ^ filler ^ mask;
    let near = words.iter().zip(&MASKS).fold(0, |sum, (word, mask)| sum | differs(word, *mask));
    let far = words.iter().enumerate().skip(MASKS.len());
    let differences = far.fold(near, |sum, (at, word)| sum | differs(word, mask(at)));
    let mut last = (filler ^ mask(words.len())).to_le_bytes().into_iter();
    let whole = value[6..8] == (value.len() as u16).to_be_bytes()
        && value[8..16] == check.to_be_bytes()
        && differences == 0
        && rest.iter().all(|byte| last.next() == Some(*byte));
    whole.then_some(writer)
}

fn check_word(key: &Key, writer: WriteId, length: usize) -> u64 {
    let (halves, _) = key.as_chunks::<8>();
    let [first, second] = [halves[0], halves[1]].map(u64::from_be_bytes);
    let who = u64::from(writer.client) << 48 | u64::from(writer.request) << 16 | length as u64;
    mix64(first ^ mix64(second ^ mix64(who)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::key_of;

    #[test]
    fn a_value_names_its_writer_and_flipped_bits_are_detected() {
        let writer = WriteId { client: 7, request: 0xdead_beef };
        for size in [16, 17, 23, 24, 100, 128, 1024, 1041] {
            let mut value = vec![0; size];
            fill_value(&key_of(3), writer, &mut value);
            assert_eq!(read_writer(&key_of(3), &value), Some(writer));
            assert_eq!(read_writer(&key_of(4), &value), None, "stored under another key");
            assert_eq!(read_writer(&key_of(3), &value[..size - 1]), None, "cut short");
            for at in 0..size {
                value[at] ^= 0x10;
                assert_eq!(read_writer(&key_of(3), &value), None, "byte {at} of {size}");
                value[at] ^= 0x10;
            }
        }
    }

    #[test]
    fn halves_of_two_values_have_no_writer() {
        let (mut old, mut new) = ([0; 128], [0; 128]);
        initial_value(&key_of(1), &mut old);
        fill_value(&key_of(1), WriteId { client: 1, request: 1 }, &mut new);
        new[64..].copy_from_slice(&old[64..]);
        assert_eq!(read_writer(&key_of(1), &new), None);
        assert_eq!(read_writer(&key_of(1), &old), Some(WriteId::INITIAL));
    }
}
