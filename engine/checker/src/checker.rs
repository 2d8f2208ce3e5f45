//! All keys: records operations and judges each read as it ends.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use netkv_wire::Key;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cluster::Cluster;
use crate::evidence::evidence;
use crate::found::Found;
use crate::moments::Moments;
use crate::operation::{Action, Observed, Record, WriteId, WriteKind};
use crate::register::{Judgement, Register, Rest};
use crate::violation::{Violation, ViolationKind};

/// Writes that were given up and may still take effect, over all keys and the whole run; of more
/// than that none is remembered.
pub const MAX_GIVEN_UP_IN_ALL: usize = 1 << 20;
/// Overwritten writes remembered for reports, over all keys.
const MAX_PAST: usize = 1 << 12;
/// Keys that stay awake without need, because they may be used again soon.
const MAX_AWAKE: usize = 1 << 12;

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

#[derive(Debug)]
enum State {
    /// Nothing is under way, and only one write can be what the key has.
    Rest(Box<Rest>),
    Awake(Box<Register>),
}

/// Records operations and judges reads. Times are the driver's nanoseconds; they are only told,
/// what counts is the order of the calls.
#[derive(Debug, Default)]
pub struct Checker {
    moments: Moments,
    /// Every key that was written.
    keys: FxHashMap<Key, State>,
    wakeful: Wakeful,
    past: VecDeque<(Key, Cluster)>,
    given_up: usize,
    checked_ops: u64,
    unchecked: FxHashSet<Key>,
    found: Found,
}

impl Checker {
    /// A checker that knows of no operation.
    pub fn new() -> Self {
        Self::default()
    }

    /// A write is about to be sent for the first time. `exists` says whether the key had a value
    /// before anybody wrote it.
    pub fn begin_write(&mut self, now: u64, key: &Key, id: WriteId, kind: WriteKind, exists: bool) {
        let moment = self.moments.next(now);
        let state = match self.keys.entry(*key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(State::Rest(Box::new(Register::rest_of_new(exists, moment))))
            }
        };
        self.wakeful.awake(key, state).begin_write(moment, id, kind);
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
        self.with(key, |register| register.begin_read(moment));
        ReadTicket(moment)
    }

    /// A read is given up.
    pub fn give_up_read(&mut self, key: &Key, ticket: ReadTicket) {
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
        self.put_to_rest(moment);
        self.conclude(key, read, &answer, judgement)
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
            let records = match (self.keys.get(key), kind) {
                (_, ViolationKind::PhantomValue) | (None | Some(State::Rest(_)), _) => vec![read],
                (Some(State::Awake(register)), _) => {
                    let past = self.past.iter().rev().filter(|(of, _)| of == key);
                    let past = register.dropped.iter().rev().chain(past.map(|(_, it)| it));
                    evidence(register, read, &past.copied().collect::<Vec<Cluster>>())
                }
            };
            self.found.keep(key, kind, read.id, records);
        }
        verdict
    }

    /// Keys that have been written, in no order.
    pub fn written(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.keys.keys()
    }

    /// Writes that are remembered because a read may still return them, over all keys; it counts
    /// them one by one.
    pub fn remembered(&self) -> usize {
        let of = |state: &State| match state {
            State::Rest(_) => 1,
            State::Awake(register) => register.clusters.len(),
        };
        self.keys.values().map(of).sum()
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
        let Some(state) = self.keys.get_mut(key) else { return };
        let register = self.wakeful.awake(key, state);
        act(register);
        for cluster in register.dropped.drain(..) {
            if self.past.len() == MAX_PAST {
                self.past.pop_front();
            }
            self.past.push_back((*key, cluster));
        }
    }

    /// Keeps no more of keys than is needed, of those that were woken first.
    fn put_to_rest(&mut self, moment: u64) {
        // Two for each that wakes, so that those still in use do not pile up.
        for _ in 0..2 {
            let Some(key) = self.wakeful.oldest() else { return };
            let mut rest = None;
            self.with(&key, |register| rest = register.rest(moment));
            let (Some(rest), Some(state)) = (rest, self.keys.get_mut(&key)) else {
                self.wakeful.order.push_back(key);
                continue;
            };
            let rest = State::Rest(Box::new(rest));
            if let State::Awake(register) = std::mem::replace(state, rest) {
                self.wakeful.spare.push(register);
            }
        }
    }
}

/// Keys that are awake, and registers for more of them.
#[derive(Debug, Default)]
struct Wakeful {
    /// In the order in which they woke.
    order: VecDeque<Key>,
    #[expect(clippy::vec_box, reason = "they move between here and the keys without a copy")]
    spare: Vec<Box<Register>>,
}

impl Wakeful {
    fn awake<'a>(&mut self, key: &Key, state: &'a mut State) -> &'a mut Register {
        if let State::Rest(rest) = state {
            let register = match self.spare.pop() {
                Some(mut register) => {
                    register.wake(rest);
                    register
                }
                None => Box::new(Register::from_rest(rest)),
            };
            self.order.push_back(*key);
            *state = State::Awake(register);
        }
        match state {
            State::Awake(register) => register,
            State::Rest(_) => unreachable!("it was woken above"),
        }
    }

    /// The key that woke first, if too many are awake.
    fn oldest(&mut self) -> Option<Key> {
        if self.order.len() > MAX_AWAKE { self.order.pop_front() } else { None }
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
