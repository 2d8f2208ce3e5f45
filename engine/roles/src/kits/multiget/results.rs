//! Collects the values of the keys of a request, and writes replies with them.

use std::ops::Range;

use netkv_wire::MAX_VALUE;
use netkv_wire::multiget::{Addresses, Answer, Header, ReplyWriter, entry_len};
use netkv_workload::WireKey;

use crate::Actions;

/// The state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It is not known yet.
    Missing,
    /// There is no such record.
    Absent,
    /// The range of its value in [`Results::values`].
    Value(usize, usize),
}

/// The keys of a request in order, with the state of each.
#[derive(Debug, Default)]
pub(crate) struct Results {
    keys: Vec<(WireKey, Known)>,
    values: Vec<u8>,
}

impl Results {
    /// Removes everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    /// Adds a missing key.
    pub(crate) fn push(&mut self, name: WireKey) {
        self.keys.push((name, Known::Missing));
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key at an index.
    pub(crate) fn name(&self, at: usize) -> &WireKey {
        &self.keys[at].0
    }

    /// Whether the key at an index is missing.
    pub(crate) fn is_missing(&self, at: usize) -> bool {
        self.keys[at].1 == Known::Missing
    }

    /// Sets the value of the key at an index, unless it is known. False if the value is too long
    /// for a reply.
    pub(crate) fn set(&mut self, at: usize, value: Option<&[u8]>) -> bool {
        if value.is_some_and(|value| value.len() > MAX_VALUE) {
            return false;
        }
        let known = &mut self.keys[at].1;
        if *known == Known::Missing {
            let start = self.values.len();
            *known = match value {
                Some(value) => {
                    self.values.extend_from_slice(value);
                    Known::Value(start, self.values.len())
                }
                None => Known::Absent,
            };
        }
        true
    }

    /// Sends the known ones of `keys` in as few replies as possible; the first key is
    /// key `start` of the request with this header. Returns the number of replies.
    pub(crate) fn send(
        &self,
        addresses: &Addresses,
        header: &Header,
        start: u8,
        keys: Range<usize>,
        out: &mut Actions,
    ) -> u64 {
        let end = keys.end.min(self.len());
        let (mut at, mut replies) = (keys.start, 0);
        while at < end {
            if self.is_missing(at) {
                at += 1;
                continue;
            }
            replies += 1;
            out.send_written(|bytes| {
                let header = header.answer(start + at as u8, 0);
                let mut reply = ReplyWriter::begin(bytes, addresses, &header, Answer::Ok);
                while let Some((name, known)) = self.keys[..end].get(at) {
                    let value = match *known {
                        Known::Missing => break,
                        Known::Absent => &[][..],
                        Known::Value(from, to) => &self.values[from..to],
                    };
                    let name = name.as_bytes();
                    if !reply.has_room(bytes, entry_len(name.len(), Some(value.len()))) {
                        break;
                    }
                    reply.entry(bytes, name, *known != Known::Absent, Some(value));
                    at += 1;
                }
                reply.finish(bytes);
            });
        }
        replies
    }
}

/// Answers a request for `numkey` keys from `startidx` on with a status only.
pub(crate) fn send_answer(
    addresses: &Addresses,
    header: &Header,
    answer: Answer,
    out: &mut Actions,
) {
    let header = header.answer(header.startidx, header.numkey);
    out.send_written(|bytes| {
        ReplyWriter::begin(bytes, addresses, &header, answer).finish(bytes);
    });
}

/// Sends the answer to a write of a key, with its status.
pub(crate) fn send_written(
    addresses: &Addresses,
    header: &Header,
    name: &[u8],
    answer: Answer,
    out: &mut Actions,
) {
    if answer != Answer::Ok {
        return send_answer(addresses, header, answer, out);
    }
    let header = header.answer(header.startidx, header.numkey);
    out.send_written(|bytes| {
        let mut reply = ReplyWriter::begin(bytes, addresses, &header, answer);
        reply.entry(bytes, name, true, None);
        reply.finish(bytes);
    });
}

#[cfg(test)]
mod tests {
    use netkv_wire::multiget::{MTU, Op, View, group};

    use super::*;

    fn replies(results: &Results) -> Vec<(u8, u8)> {
        let addresses =
            Addresses { source: [10, 2, 0, 0], destination: [10, 1, 0, 1], fields: 32.into() };
        let header = Header::request(Op::Mget, 7, 16, &group([0; 16]));
        let mut out = Actions::new();
        let replies = results.send(&addresses, &header, 0, 0..results.len(), &mut out);
        assert_eq!(replies as usize, out.frames().len());
        let of = |frame: &[u8]| {
            assert!(frame.len() <= 14 + MTU);
            let view = View::parse(frame, 32).unwrap();
            assert_eq!((view.header().id, view.header().op), (7, Op::Mget));
            (view.header().startidx, view.header().numkey)
        };
        out.frames().map(of).collect()
    }

    fn results(values: &[Option<usize>]) -> Results {
        let mut results = Results::default();
        for (at, size) in values.iter().enumerate() {
            results.push(WireKey::new(&[at as u8; 64]).unwrap());
            if let Some(size) = size {
                assert!(results.set(at, Some(&vec![1; *size])));
            }
        }
        results
    }

    #[test]
    fn large_results_come_in_several_replies_that_name_their_keys() {
        assert_eq!(replies(&results(&[Some(1024); 3])), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(replies(&results(&[Some(10); 16])), [(0, 16)]);
        assert_eq!(replies(&results(&[Some(256); 9])), [(0, 4), (4, 4), (8, 1)]);
    }

    #[test]
    fn keys_that_are_not_known_are_left_out() {
        assert_eq!(replies(&results(&[None, Some(5), Some(5), None, Some(5)])), [(1, 2), (4, 1)]);
        assert_eq!(replies(&results(&[None; 4])), []);
        let mut long = results(&[None]);
        assert!(!long.set(0, Some(&[0; MAX_VALUE + 1])), "no reply could carry it");
        assert!(long.is_missing(0));
    }
}
