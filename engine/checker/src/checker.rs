//! All keys: records operations and judges each read as it ends.

use netkv_wire::Key;
use rustc_hash::FxHashSet;

use crate::evidence::evidence;
use crate::found::Found;
use crate::keys::{Keys, MAX_AWAKE, MAX_RESTING};
use crate::moments::Moments;
use crate::operation::{Action, Observed, Record, WriteId, WriteKind};
use crate::past::Past;
use crate::reading::Reading;
use crate::register::{Judgement, Register};
use crate::settled::comparable;
use crate::violation::{Violation, ViolationKind};

/// Writes that were given up and may still take effect, over all keys and the whole run; of more
/// than that none is remembered.
pub const MAX_GIVEN_UP_IN_ALL: usize = 1 << 20;

/// What the checker thinks of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may have returned this.
    Fresh,
    /// It returned an older value than it may.
    Stale,
    /// Nobody wrote this value.
    Phantom,
    /// No judgement is possible.
    Unchecked,
}

/// A read under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTicket(u64);

/// An answer to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The request that read.
    pub reader: WriteId,
    /// What it returned.
    pub observed: Observed,
    /// Whether the key had a value before anybody wrote it.
    pub exists: bool,
    /// Whether the request that the value names is one that somebody has made.
    pub issued: bool,
    /// Whether this is the last read of the key, after all writes.
    pub last: bool,
}

/// What the checker thinks of everything so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Writes that were acknowledged and reads that were judged.
    pub checked_ops: u64,
    /// Keys of which not every read could be judged.
    pub unchecked_keys: u64,
    /// Reads that have no explanation.
    pub violations: u64,
}

impl Summary {
    /// Whether the history of every key is linearizable; `None` if none was found that is not,
    /// but not everything could be judged.
    pub fn linearizable(&self) -> Option<bool> {
        match (self.violations, self.unchecked_keys) {
            (0, 0) => Some(true),
            (0, _) => None,
            _ => Some(false),
        }
    }
}

/// Records operations and judges reads. Times are the driver's nanoseconds; they are only told,
/// what counts is the order of the calls.
#[derive(Debug)]
pub struct Checker {
    moments: Moments,
    /// Every key that was written.
    keys: Keys,
    reading: Reading,
    past: Past,
    given_up: usize,
    checked_ops: u64,
    unchecked: FxHashSet<Key>,
    found: Found,
}

impl Default for Checker {
    fn default() -> Self {
        Self::with_room(MAX_AWAKE, MAX_RESTING)
    }
}

impl Checker {
    /// A checker that knows of no operation.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same that keeps the histories of `awake` keys, and the last operations of `resting` more,
    /// although nothing is under way for them. Judgements do not depend on it, only speed and how
    /// much a violation's report has.
    pub fn with_room(awake: usize, resting: usize) -> Self {
        Self {
            moments: Moments::default(),
            keys: Keys::new((awake, resting)),
            reading: Reading::default(),
            past: Past::default(),
            given_up: 0,
            checked_ops: 0,
            unchecked: FxHashSet::default(),
            found: Found::default(),
        }
    }

    /// A write is about to be sent for the first time. `exists` says whether the key had a value
    /// before anybody wrote it.
    pub fn begin_write(&mut self, now: u64, key: &Key, id: WriteId, kind: WriteKind, exists: bool) {
        let moment = self.moments.next(now);
        self.keys.get_or_new(key, exists, moment).begin_write(moment, id, kind);
        self.put_to_rest(moment);
    }

    /// The first acknowledgement of a write has come.
    pub fn end_write(&mut self, now: u64, key: &Key, id: WriteId) {
        let moment = self.moments.next(now);
        self.checked_ops += 1;
        self.with(key, |register| register.end_write(moment, id));
    }

    /// The writer waits no longer for an acknowledgement, or was told that nobody knows what became
    /// of the write. It may have taken effect, and may still do so.
    pub fn give_up_write(&mut self, key: &Key, id: WriteId) {
        self.given_up += 1;
        let keep = self.given_up <= MAX_GIVEN_UP_IN_ALL;
        self.with(key, |register| register.give_up_write(id, keep));
    }

    /// A read is about to be sent for the first time.
    pub fn begin_read(&mut self, now: u64, key: &Key) -> ReadTicket {
        let moment = self.moments.next(now);
        self.reading.begin(moment);
        self.with(key, |register| register.begin_read(moment));
        ReadTicket(moment)
    }

    /// A read is given up.
    pub fn give_up_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.reading.end(ticket.0);
        self.with(key, |register| register.end_reading(ticket.0));
    }

    /// A read has returned something that cannot be judged.
    pub fn skip_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.give_up_read(key, ticket);
        self.unchecked.insert(*key);
    }

    /// A read has ended.
    pub fn end_read(&mut self, now: u64, key: &Key, ticket: ReadTicket, answer: Answer) -> Verdict {
        let moment = self.moments.next(now);
        let action = Action::Read(answer.observed);
        let read = Record { id: answer.reader, action, begun: ticket.0, ended: moment };
        let mut judgement = unwritten(&answer);
        self.with(key, |register| {
            register.end_reading(read.begun);
            judgement = register.judge(read, answer.observed, answer.issued);
        });
        self.reading.end(read.begun);
        let verdict = self.conclude(key, read, &answer, judgement);
        self.put_to_rest(moment);
        verdict
    }

    fn conclude(&mut self, key: &Key, read: Record, answer: &Answer, it: Judgement) -> Verdict {
        let (kind, verdict) = match it {
            Judgement::Legal => {
                self.checked_ops += 1;
                self.found.fine(key);
                return Verdict::Fresh;
            }
            Judgement::Unchecked => {
                self.unchecked.insert(*key);
                return Verdict::Unchecked;
            }
            Judgement::Phantom => (ViolationKind::PhantomValue, Verdict::Phantom),
            Judgement::Stale if answer.last => (ViolationKind::LostWrite, Verdict::Stale),
            Judgement::Stale => (ViolationKind::StaleRead, Verdict::Stale),
            Judgement::Disordered => (ViolationKind::NotLinearizable, Verdict::Stale),
        };
        self.checked_ops += 1;
        if self.found.count(key, kind) {
            let register = self.keys.get(key).filter(|_| kind != ViolationKind::PhantomValue);
            let records = register.map_or_else(
                || vec![read],
                |register| {
                    let dropped = register.dropped.iter().rev().copied();
                    let past = dropped.chain(self.past.of(key)).collect();
                    evidence(register, read, &comparable(&register.clusters, past))
                },
            );
            self.found.keep(key, kind, read.id, records);
        }
        verdict
    }

    /// Number of keys that have been written.
    pub fn written(&self) -> usize {
        self.keys.len()
    }

    /// The greatest keys below `bound` (none: of all) that have been written, ascending: about
    /// `wanted`, fewer only if there are no more. With them where they end, the bound of those that
    /// come next; none if these were all.
    pub fn written_below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        self.keys.below(bound, wanted)
    }

    /// Writes that are remembered because a read may still return them, over all keys; it counts
    /// them one by one.
    pub fn remembered(&self) -> usize {
        self.keys.remembered()
    }

    /// What it thinks of everything so far.
    pub fn summary(&self) -> Summary {
        Summary {
            checked_ops: self.checked_ops,
            unchecked_keys: self.unchecked.len() as u64,
            violations: self.found.total(),
        }
    }

    /// The first violations that were found, with their histories.
    pub fn violations(&self) -> Vec<Violation> {
        self.found.tell(&self.moments)
    }

    /// Does something to the history of a key, if it has one.
    fn with(&mut self, key: &Key, act: impl FnOnce(&mut Register)) {
        let Some(register) = self.keys.get(key) else { return };
        act(register);
        self.past.take(key, register);
    }

    fn put_to_rest(&mut self, moment: u64) {
        self.keys.put_to_rest(moment, self.reading.oldest(), &mut self.past);
    }
}

/// A read of a key that nobody has written.
fn unwritten(answer: &Answer) -> Judgement {
    match answer.observed {
        Observed::Value(WriteId::INITIAL) if answer.exists => Judgement::Legal,
        Observed::NotFound if !answer.exists => Judgement::Legal,
        // It had a value, nobody deleted it, and it is gone: what was there is lost.
        Observed::NotFound => Judgement::Stale,
        _ => Judgement::Phantom,
    }
}
