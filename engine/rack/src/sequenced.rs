//! The records of a key-value back end that keeps sequences ([`Format::Sequenced`]).
//!
//! A record is the value and a trailer: incarnation and number of the write (4 bytes each,
//! big-endian), and a byte that is 1 for a tombstone, else 0. A deleted key whose tombstone was
//! dropped has no record. Records under reserved keys have no trailer.

use netkv_roles::{StoreCall, StoreOp, StoreResult, is_reserved};
use netkv_wire::{Key, Sequence};

use crate::store::Format;

/// Bytes of the trailer.
pub const TRAILER: usize = 9;

/// The operation of a key-value back end for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainCall<'a> {
    /// Read the record.
    Get,
    /// Write the value, followed by the trailer, if there is one.
    Put(&'a [u8], Option<[u8; TRAILER]>),
    /// Delete the record.
    Delete,
}

impl Format {
    /// The operation of the back end for `call`.
    pub fn plain<'a>(self, call: &StoreCall<'a>) -> PlainCall<'a> {
        let sequenced = self.is_sequenced(&call.key);
        let trailer = |deleted: bool| {
            let Sequence { incarnation, number } = call.sequence.unwrap_or_default();
            let ([a, b, c, d], [e, f, g, h]) = (incarnation.to_be_bytes(), number.to_be_bytes());
            [a, b, c, d, e, f, g, h, u8::from(deleted)]
        };
        match call.op {
            StoreOp::Get => PlainCall::Get,
            StoreOp::Put => PlainCall::Put(call.value, sequenced.then(|| trailer(false))),
            StoreOp::Delete if sequenced && call.sequence.is_some() => {
                PlainCall::Put(&[], Some(trailer(true)))
            }
            StoreOp::Delete => PlainCall::Delete,
        }
    }

    /// The result of a get for which the back end has found these bytes, or nothing.
    ///
    /// # Errors
    ///
    /// A sentence: the record is damaged.
    pub fn found<'a>(self, key: &Key, record: Option<&'a [u8]>) -> Result<StoreResult<'a>, String> {
        let Some(record) = record else { return Ok(StoreResult::NotFound(Sequence::default())) };
        if !self.is_sequenced(key) {
            return Ok(StoreResult::Value(record, Sequence::default()));
        }
        let (value, trailer) =
            record.split_last_chunk::<TRAILER>().ok_or_else(|| damaged(key, record.len()))?;
        let [a, b, c, d, e, f, g, h, deleted] = *trailer;
        let sequence = Sequence {
            incarnation: u32::from_be_bytes([a, b, c, d]),
            number: u32::from_be_bytes([e, f, g, h]),
        };
        match (deleted, value.is_empty()) {
            (0, _) => Ok(StoreResult::Value(value, sequence)),
            (1, true) => Ok(StoreResult::NotFound(sequence)),
            _ => Err(damaged(key, record.len())),
        }
    }

    fn is_sequenced(self, key: &Key) -> bool {
        self == Self::Sequenced && !is_reserved(key)
    }
}

fn damaged(key: &Key, length: usize) -> String {
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "The store's record of key {key} is damaged: its {length} bytes do not end in a sequence \
         number; give it an empty directory, or an undamaged one."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [7; 16];
    const OWN: Key = *b"netkv:senders:01";
    const SEQUENCE: Sequence = Sequence { incarnation: 0x0102_0304, number: u32::MAX };

    fn written(format: Format, call: StoreCall<'_>) -> Option<Vec<u8>> {
        match format.plain(&call) {
            PlainCall::Put(value, trailer) => {
                Some([value, &trailer.map(Vec::from).unwrap_or_default()].concat())
            }
            PlainCall::Delete => None,
            PlainCall::Get => panic!("nothing is read here"),
        }
    }

    #[test]
    fn a_get_finds_the_value_and_sequence_that_were_written() {
        let value: Vec<u8> = (0..=255).collect();
        let get = StoreCall::get(0, KEY);
        for length in [0, 1, 8, 9, 128, 256] {
            let put = StoreCall { op: StoreOp::Put, value: &value[..length], ..get };
            for sequence in [None, Some(SEQUENCE)] {
                let record = written(Format::Sequenced, StoreCall { sequence, ..put }).unwrap();
                let expected = StoreResult::Value(&value[..length], sequence.unwrap_or_default());
                assert_eq!(Format::Sequenced.found(&KEY, Some(&record)), Ok(expected));
                let record = written(Format::Plain, StoreCall { sequence, ..put }).unwrap();
                assert_eq!(record, &value[..length], "without a trailer");
                let expected = StoreResult::Value(&value[..length], Sequence::default());
                assert_eq!(Format::Plain.found(&KEY, Some(&record)), Ok(expected));
            }
        }
    }

    #[test]
    fn a_delete_leaves_a_tombstone_if_it_has_a_sequence() {
        let delete = StoreCall { op: StoreOp::Delete, ..StoreCall::get(0, KEY) };
        let numbered = StoreCall { sequence: Some(SEQUENCE), ..delete };
        let tombstone = written(Format::Sequenced, numbered).unwrap();
        let found = Format::Sequenced.found(&KEY, Some(&tombstone));
        assert_eq!(found, Ok(StoreResult::NotFound(SEQUENCE)));
        assert_eq!(written(Format::Sequenced, delete), None);
        assert_eq!(written(Format::Plain, numbered), None);
        let found = Format::Sequenced.found(&KEY, None);
        assert_eq!(found, Ok(StoreResult::NotFound(Sequence::default())));
    }

    #[test]
    fn reserved_records_are_the_same_in_both_formats() {
        let put = StoreCall { op: StoreOp::Put, value: b"mine", ..StoreCall::get(0, OWN) };
        for format in [Format::Plain, Format::Sequenced] {
            assert_eq!(written(format, put).unwrap(), b"mine");
            let found = format.found(&OWN, Some(b"mine"));
            assert_eq!(found, Ok(StoreResult::Value(b"mine", Sequence::default())));
        }
    }

    #[test]
    fn a_damaged_record_is_refused_with_an_explanation() {
        let cut = [0; TRAILER - 1];
        let invalid_flag = [&[0; TRAILER - 1][..], &[2]].concat();
        let tombstone_with_value = [&b"v"[..], &[0; TRAILER - 1], &[1]].concat();
        for record in [&cut[..], &invalid_flag, &tombstone_with_value, &[]] {
            let error = Format::Sequenced.found(&KEY, Some(record)).unwrap_err();
            assert!(error.contains("0707") && error.contains("empty directory"), "{error}");
        }
    }
}
