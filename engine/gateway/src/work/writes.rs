//! SET, MSET, DEL and UNLINK: one write for each key, all concurrently.
//!
//! The schemes do not report whether a deleted key existed, so a delete reads the key first.

use netkv_rack::session::OwnedOp;
use netkv_roles::Outcome;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::operating::Operating;
use crate::failure::{Failure, Why};
use crate::keys::{Keys, Name};
use crate::known::Known;
use crate::reply::{write_integer, write_line};
use crate::text;

/// Keys that an error names for each outcome.
const MAX_NAMED: usize = 100;

/// A command that writes.
#[derive(Debug)]
pub struct Writes {
    deletes: bool,
    keys: SmallVec<[Write; 1]>,
    /// Keys whose operations have not ended.
    left: usize,
}

/// The write of one key.
#[derive(Debug)]
struct Write {
    /// The key; as the user has sent it if it is not valid.
    name: Result<Name, Box<[u8]>>,
    hash: u64,
    /// The value, until the write is submitted.
    value: Vec<u8>,
    /// Of a delete: whether the key had a value, once that is known.
    existed: Option<bool>,
    result: Option<Result<(), Failure>>,
}

impl Write {
    fn new(key: &[u8], value: &[u8], keys: &Keys, known: &Known) -> Self {
        let (name, value) = match keys.name(key) {
            Ok(name) => {
                let value = name.pack(value);
                (Ok(name), value)
            }
            Err(why) => (Err(key.into()), Err(why)),
        };
        let (value, result) = match value {
            Ok(value) => (value, None),
            Err(why) => (Vec::new(), Some(Err(Failure::refused(why)))),
        };
        Self { name, hash: known.hash(key), value, existed: None, result }
    }

    fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().and_then(|result| result.as_ref().err())
    }

    fn key(&self) -> &[u8] {
        match &self.name {
            Ok(name) => name.key(),
            Err(key) => key,
        }
    }
}

impl Writes {
    /// The last value of each key; the keys in the order of their first mention.
    pub(super) fn puts<'a>(
        pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        keys: &Keys,
        known: &Known,
    ) -> Self {
        let mut writes = SmallVec::new();
        for (key, value) in last_of_each(pairs) {
            writes.push(Write::new(key, value, keys, known));
        }
        Self { deletes: false, keys: writes, left: 0 }
    }

    /// Each key once.
    pub(super) fn deletes<'a>(
        words: impl Iterator<Item = &'a [u8]>,
        keys: &Keys,
        known: &Known,
    ) -> Self {
        let pairs = last_of_each(words.map(|key| (key, &[][..])));
        let writes = pairs.into_iter().map(|(key, _)| Write::new(key, &[], keys, known));
        Self { deletes: true, keys: writes.collect(), left: 0 }
    }

    pub(super) fn start(&mut self, rack: &mut Operating<'_>) -> bool {
        for (part, write) in self.keys.iter_mut().enumerate() {
            let (Ok(name), None) = (&write.name, &write.result) else { continue };
            let key = name.wire.clone();
            let op = if self.deletes {
                OwnedOp::Get([key].into())
            } else {
                OwnedOp::Put(key, std::mem::take(&mut write.value))
            };
            rack.submit(part, op);
            self.left += 1;
        }
        self.left == 0
    }

    pub(super) fn on_outcome(
        &mut self,
        part: usize,
        outcome: Outcome,
        rack: &mut Operating<'_>,
    ) -> bool {
        let write = &mut self.keys[part];
        let Ok(name) = &write.name else { return false };
        write.result = match outcome {
            Outcome::Values(mut values) if self.deletes => {
                let value = values.pop().flatten();
                match value.as_deref().map_or(Ok(&[][..]), |stored| name.unpack(stored)) {
                    Ok(_) => {
                        write.existed = Some(value.is_some());
                        rack.submit(part, OwnedOp::Delete(name.wire.clone()));
                        return false;
                    }
                    Err(why) => Some(Err(Failure::refused(why))),
                }
            }
            Outcome::Done | Outcome::NotFound => {
                if self.deletes {
                    rack.known.remove(write.hash);
                } else {
                    rack.known.insert(write.hash);
                }
                Some(Ok(()))
            }
            other => Some(Err(Failure::of(other, &[name], rack.texts))),
        };
        self.left -= 1;
        self.left == 0
    }

    pub(super) fn write_reply(&self, out: &mut Vec<u8>) -> Option<String> {
        let error = self.keys.iter().find_map(Write::failure);
        match (error, self.deletes) {
            (None, false) => write_line(b'+', b"OK", out),
            (None, true) => {
                let existed = self.keys.iter().filter(|it| it.existed == Some(true)).count();
                write_integer(existed as i64, out);
            }
            (Some(failure), _) if self.keys.len() == 1 => return Some(failure.reply()),
            (Some(failure), true) => return Some(self.deleted_in_part(failure)),
            (Some(failure), false) => return Some(self.written_in_part(failure)),
        }
        None
    }

    fn deleted_in_part(&self, failure: &Failure) -> String {
        let done = self.keys.iter().filter(|it| it.failure().is_none()).count();
        format!("{} ({done} of {} keys are deleted.)", failure.reply(), self.keys.len())
    }

    /// Names the keys that are written and those that are not. If the rack has refused some keys
    /// and written all others, it begins with the number of written keys.
    fn written_in_part(&self, first: &Failure) -> String {
        // Errors after which a key may be written come before refusals ("nothing was done").
        let mut failures = self.keys.iter().filter_map(Write::failure);
        let first = failures.find(|it| it.why != Why::Refused).unwrap_or(first);
        let all = self.keys.len();
        let of = |wanted: fn(Option<Why>) -> bool| -> Vec<&[u8]> {
            let is = |write: &&Write| wanted(write.failure().map(|failure| failure.why));
            self.keys.iter().filter(is).map(Write::key).collect()
        };
        let written = of(|why| why.is_none());
        let perhaps = of(|why| why.is_some_and(|why| why != Why::Refused));
        let not = of(|why| why == Some(Why::Refused));
        let only = if !written.is_empty() && first.why == Why::Refused {
            format!("only {} of {all} keys are written: ", written.len())
        } else {
            String::new()
        };
        format!(
            "{} {only}{} (Of this MSET's {all} keys, written: {}; perhaps written: {}; not written: \
             {}.)",
            first.code(),
            first.text,
            named(&written),
            named(&perhaps),
            named(&not)
        )
    }
}

/// The last value of each key; the keys in the order of their first mention.
fn last_of_each<'a>(
    pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> SmallVec<[(&'a [u8], &'a [u8]); 1]> {
    let mut found: SmallVec<[_; 1]> = pairs.collect();
    if found.len() > 1 {
        let mut places = FxHashMap::default();
        let mut each: SmallVec<[(&[u8], &[u8]); 1]> = SmallVec::new();
        for (key, value) in found {
            let place = *places.entry(key).or_insert(each.len());
            match each.get_mut(place) {
                Some(pair) => pair.1 = value,
                None => each.push((key, value)),
            }
        }
        found = each;
    }
    found
}

fn named(keys: &[&[u8]]) -> String {
    if keys.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = keys.iter().take(MAX_NAMED).map(|key| text::word(key)).collect();
    let more = keys.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
