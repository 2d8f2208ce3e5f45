//! GET, MGET, EXISTS, STRLEN, TYPE, TTL and PTTL: values of keys, all or an error.

use netkv_rack::session::OwnedOp;
use netkv_roles::Outcome;
use smallvec::SmallVec;

use super::operating::Operating;
use crate::command::Stored;
use crate::failure::Failure;
use crate::keys::{Keys, Name};
use crate::reply::{Version, write_array, write_integer, write_line, write_value};

/// A command that reads.
#[derive(Debug)]
pub struct Reads {
    stored: Stored,
    names: SmallVec<[Name; 1]>,
    /// As they are stored.
    values: Vec<Option<Vec<u8>>>,
    /// Operations that have not ended. Each reads a part of the keys.
    left: usize,
    /// The first.
    failure: Option<Failure>,
}

impl Reads {
    pub(super) fn new<'a>(
        stored: Stored,
        words: impl Iterator<Item = &'a [u8]>,
        keys: &Keys,
    ) -> Self {
        let (names, failure) = match words.map(|key| keys.name(key)).collect() {
            Ok(names) => (names, None),
            Err(text) => (SmallVec::new(), Some(Failure::refused(text))),
        };
        Self { stored, names, values: Vec::new(), left: 0, failure }
    }

    pub(super) fn start(&mut self, rack: &mut Operating<'_>) -> bool {
        if self.failure.is_some() {
            return true;
        }
        for (part, names) in self.names.chunks(rack.texts.keys.max_per_read()).enumerate() {
            let keys = names.iter().map(|name| name.wire.clone());
            rack.submit(part, OwnedOp::Get(keys.collect()));
            self.left += 1;
        }
        if self.left > 1 {
            self.values.resize(self.names.len(), None);
        }
        self.left == 0
    }

    pub(super) fn on_outcome(
        &mut self,
        part: usize,
        outcome: Outcome,
        rack: &mut Operating<'_>,
    ) -> bool {
        let first = part * rack.texts.keys.max_per_read();
        match outcome {
            Outcome::Values(values) if self.values.is_empty() => self.values = values,
            Outcome::Values(values) => {
                let places = self.values.iter_mut().skip(first);
                places.zip(values).for_each(|(place, value)| *place = value);
            }
            other => {
                let names = self.names.iter().skip(first).take(rack.texts.keys.max_per_read());
                let names: Vec<&Name> = names.collect();
                self.failure.get_or_insert_with(|| Failure::of(other, &names, rack.texts));
            }
        }
        self.left -= 1;
        if self.left == 0 {
            self.end(rack);
        }
        self.left == 0
    }

    fn end(&mut self, rack: &mut Operating<'_>) {
        if self.failure.is_some() {
            return;
        }
        let mut hits = 0;
        for (name, value) in self.names.iter().zip(&self.values) {
            let Some(stored) = value else { continue };
            hits += 1;
            if let Err(text) = name.unpack(stored) {
                self.failure = Some(Failure::refused(text));
                return;
            }
        }
        rack.counters.hits += hits;
        rack.counters.misses += self.names.len() as u64 - hits;
    }

    pub(super) fn write_reply(&self, version: Version, out: &mut Vec<u8>) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.reply());
        }
        let mut values = self.names.iter().zip(&self.values).map(|(name, value)| {
            // `end` has checked that all values can be unpacked.
            value.as_ref().and_then(|stored| name.unpack(stored).ok())
        });
        match self.stored {
            Stored::Multiget => {
                write_array(self.names.len(), out);
                values.for_each(|value| write_value(value, version, out));
            }
            Stored::Exists => write_integer(values.flatten().count() as i64, out),
            one => {
                let value = values.next().flatten();
                match one {
                    Stored::Length => write_integer(value.map_or(0, <[u8]>::len) as i64, out),
                    Stored::Kind if value.is_some() => write_line(b'+', b"string", out),
                    Stored::Kind => write_line(b'+', b"none", out),
                    Stored::Expiry => write_integer(if value.is_some() { -1 } else { -2 }, out),
                    _ => write_value(value, version, out),
                }
            }
        }
        None
    }
}
