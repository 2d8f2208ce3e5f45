//! Reports operations to the checker, and counts its verdicts on reads.
//!
//! Where reads may return replaced values, there is a second checker ([`Condition::Regular`]). A
//! replaced value from a cache may be that of a write which overlapped the one that replaced it.
//! The first checker takes such a read as proof of the other order, and then the value that the
//! server has for a wrong one. So the second one decides which reads are stale, and which writes
//! are lost; the first one only whether the history is linearizable.

use netkv_checker::{
    Answer, Checker, Condition, MAX_VIOLATIONS, Observed, ReadTicket, Summary, Verdict, Violation,
    ViolationKind, WriteId, WriteKind,
};
use netkv_wire::Key;

use super::staleness::Staleness;
use crate::common::senders::Senders;
use crate::{ClientConfig, ClientCounts, Nanos, read_writer};

/// Reports operations to the checker and judges reads, if checking is enabled.
#[derive(Debug)]
pub struct Judge {
    checker: Checker,
    /// If reads may return replaced values: gets the same calls as `checker`.
    regular: Option<Box<Checker>>,
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
        let regular = || Box::new(Checker::new().judging(Condition::Regular));
        Self {
            checker: Checker::new(),
            regular: config.may_be_stale.then(regular),
            staleness: Staleness::default(),
            judges: config.check,
            other_writers: config.other_writers,
        }
    }

    /// Makes the same call to both checkers. Returns what the second one returns, if there is one.
    #[inline(always)]
    fn tell<T>(&mut self, mut call: impl FnMut(&mut Checker) -> T) -> T {
        let first = call(&mut self.checker);
        match &mut self.regular {
            Some(regular) => call(regular),
            None => first,
        }
    }

    /// A read is about to be sent for the first time.
    pub(crate) fn begin_read(&mut self, now: Nanos, key: &Key) -> Option<ReadTicket> {
        // Both give the same ticket, since they get the same calls.
        self.judges.then(|| self.tell(|it| it.begin_read(now, key)))
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
            self.tell(|it| it.begin_write(now, key, id, kind, exists));
        }
    }

    /// A write has been acknowledged.
    pub(crate) fn end_write(&mut self, now: Nanos, key: &Key, id: WriteId) {
        if self.judges {
            let begun = self.tell(|it| it.end_write(now, key, id));
            self.staleness.written(begun.unwrap_or(0), now, key, id);
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
        if self.judges {
            let verdict = self.tell(|it| it.refuse_write(now, key, id));
            counts.phantom_reads += u64::from(verdict == Verdict::Phantom);
        }
    }

    /// It is unknown whether a write was applied.
    pub(crate) fn give_up_write(&mut self, key: &Key, id: WriteId) {
        if self.judges {
            self.tell(|it| it.give_up_write(key, id));
        }
    }

    /// A read is given up, or has returned nothing.
    pub(crate) fn give_up_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.tell(|it| it.give_up_read(key, ticket));
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
            self.tell(|it| it.skip_read(key, ticket));
            Verdict::Unchecked
        } else {
            let last = verifies && self.regular.is_none();
            let answer = Answer { reader, observed, exists, issued, last };
            let verdict = self.checker.end_read(now, key, ticket, answer);
            match &mut self.regular {
                Some(it) => it.end_read(now, key, ticket, Answer { last: verifies, ..answer }),
                None => verdict,
            }
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
    pub fn history(&self) -> Option<Summary> {
        self.judges.then(|| self.checker.summary())
    }

    /// The first violations of linearizability, with the operations that prove them. Times are
    /// those of the driver. Lost writes come first if the second checker finds them.
    pub fn violations(&self) -> Vec<Violation> {
        let mut found = self.regular.as_ref().map_or_else(Vec::new, |it| it.violations());
        found.retain(|it| it.kind == ViolationKind::LostWrite);
        found.extend(self.checker.violations());
        found.truncate(MAX_VIOLATIONS);
        found
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

#[cfg(test)]
mod tests {
    use netkv_workload::{Arrivals, key_of};

    use super::*;
    use crate::fill_value;

    /// Two writes overlap; a cache answers with the first one for a while, and the server has the
    /// second one. Returns how many reads were stale, and whether a write is lost.
    fn overlapping_writes(may_be_stale: bool) -> (u64, bool) {
        let config = ClientConfig::new(2, Arrivals::Closed { outstanding: 1 });
        let config = ClientConfig { may_be_stale, ..config };
        let (mut judge, mut senders) = (Judge::new(&config), Senders::new(&config, 1));
        let numbers = [(); 2].map(|()| senders.has_room().then(|| senders.take()));
        assert_eq!(numbers, [Some((1, 1)), Some((2, 1))]);
        let mut counts = ClientCounts::default();
        let (key, writer) = (key_of(1), |client| WriteId { client, request: 1 });
        judge.begin_write(10, &key, writer(1), WriteKind::Put, true);
        judge.begin_write(20, &key, writer(2), WriteKind::Put, true);
        judge.end_write(30, &key, writer(1));
        judge.end_write(40, &key, writer(2));
        let mut lost = false;
        for (now, client, verifies) in [(50, 1, false), (60, 2, false), (70, 2, true)] {
            let mut value = [0; 32];
            fill_value(&key, writer(client), &mut value);
            let ticket = judge.begin_read(now, &key).unwrap();
            let reader = WriteId { client, request: now as u32 };
            let value = Some(&value[..]);
            let read = Read { key: &key, ticket, reader, value, exists: true, verifies };
            lost = judge.end_read(now + 5, &read, &senders, &mut counts);
        }
        assert_eq!(judge.history().unwrap().linearizable(), Some(false));
        (counts.stale_reads, lost)
    }

    #[test]
    fn a_value_from_a_cache_does_not_make_that_of_the_server_stale() {
        assert_eq!(overlapping_writes(false), (1, true));
        assert_eq!(overlapping_writes(true), (0, false));
    }
}
