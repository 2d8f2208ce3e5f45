//! Reports operations to the checker, and counts its verdicts on reads.

use netkv_checker::{
    Answer, Checker, Observed, ReadTicket, Summary, Verdict, Violation, WriteId, WriteKind,
};
use netkv_wire::Key;

use super::Senders;
use super::staleness::Staleness;
use crate::{ClientConfig, ClientCounts, Nanos, read_writer};

/// Reports operations to the checker and judges reads, if checking is enabled.
#[derive(Debug)]
pub(crate) struct Judge {
    checker: Checker,
    staleness: Staleness,
    judges: bool,
    other_writers: bool,
}

/// A read that has been answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read<'a> {
    pub(crate) key: &'a Key,
    pub(crate) ticket: ReadTicket,
    pub(crate) reader: WriteId,
    /// The value that was found.
    pub(crate) value: Option<&'a [u8]>,
    /// Whether the key has an initial value.
    pub(crate) exists: bool,
    /// Whether it belongs to the final verification.
    pub(crate) verifies: bool,
}

impl Judge {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        let (judges, other_writers) = (config.check, config.other_writers);
        Self { checker: Checker::new(), staleness: Staleness::default(), judges, other_writers }
    }

    /// A read is about to be sent for the first time.
    pub(crate) fn begin_read(&mut self, now: Nanos, key: &Key) -> Option<ReadTicket> {
        self.judges.then(|| self.checker.begin_read(now, key))
    }

    /// A write is about to be sent for the first time.
    pub(crate) fn begin_write(
        &mut self,
        now: Nanos,
        key: &Key,
        id: WriteId,
        kind: WriteKind,
        exists: bool,
    ) {
        if self.judges {
            self.checker.begin_write(now, key, id, kind, exists);
        }
    }

    /// A write has been acknowledged.
    pub(crate) fn end_write(&mut self, now: Nanos, key: &Key, id: WriteId) {
        if self.judges {
            self.checker.end_write(now, key, id);
            self.staleness.written(now, key, id);
        }
    }

    /// A write has been refused: it has not taken effect and will not.
    pub(crate) fn refuse_write(
        &mut self,
        now: Nanos,
        key: &Key,
        id: WriteId,
        counts: &mut ClientCounts,
    ) {
        if self.judges && self.checker.refuse_write(now, key, id) == Verdict::Phantom {
            counts.phantom_reads += 1;
        }
    }

    /// It is unknown whether a write was applied.
    pub(crate) fn give_up_write(&mut self, key: &Key, id: WriteId) {
        if self.judges {
            self.checker.give_up_write(key, id);
        }
    }

    /// A read is given up, or has returned nothing.
    pub(crate) fn give_up_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.checker.give_up_read(key, ticket);
    }

    /// Judges a read that has ended, and counts violations. A violation by a read of the final
    /// verification is not counted: the result is then true, and the acknowledged write is lost.
    pub(crate) fn end_read(
        &mut self,
        now: Nanos,
        read: &Read<'_>,
        senders: &Senders,
        counts: &mut ClientCounts,
    ) -> bool {
        let &Read { key, ticket, reader, value, exists, verifies } = read;
        let observed = match value {
            None => Observed::NotFound,
            Some(value) => read_writer(key, value).map_or(Observed::Garbage, Observed::Value),
        };
        let (issued, foreign) = match observed {
            Observed::Value(id) => (
                senders.issued(id.client, id.request),
                self.other_writers && id != WriteId::INITIAL,
            ),
            _ => (false, self.other_writers && observed == Observed::NotFound),
        };
        let verdict = if foreign && !issued {
            self.checker.skip_read(key, ticket);
            Verdict::Unchecked
        } else {
            let answer = Answer { reader, observed, exists, issued, last: verifies };
            self.checker.end_read(now, key, ticket, answer)
        };
        match verdict {
            Verdict::Fresh => {}
            Verdict::Unchecked => counts.unchecked_reads += 1,
            Verdict::Stale | Verdict::Phantom if verifies => return true,
            Verdict::Stale => {
                counts.stale_reads += 1;
                let begun = self.checker.begun(ticket);
                let age = self.staleness.age(begun, key, observed).unwrap_or(0);
                counts.stale_ns += age;
                counts.longest_stale_ns = counts.longest_stale_ns.max(age);
            }
            Verdict::Phantom => counts.phantom_reads += 1,
        }
        false
    }

    /// The checker's summary so far; `None` if reads are not judged.
    pub(crate) fn history(&self) -> Option<Summary> {
        self.judges.then(|| self.checker.summary())
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.checker.violations()
    }

    /// As [`Checker::written_below`].
    pub(crate) fn written_below(
        &self,
        bound: Option<&Key>,
        wanted: usize,
    ) -> (Vec<Key>, Option<Key>) {
        self.checker.written_below(bound, wanted)
    }
}
