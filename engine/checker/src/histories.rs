//! The histories of all written keys, in three forms.
//!
//! A history is active while the key has pending operations, idle when they have ended, and compact
//! when many other keys have been used since. An operation on the key makes it active again. The
//! number of active and idle histories influences the speed and the times in reports, but no
//! verdict.

use std::collections::VecDeque;

use netkv_wire::Key;
use netkv_workload::KeyTable;
use rustc_hash::FxHashMap;

use crate::compact::Compact;
use crate::dropped::Dropped;
use crate::register::{IdleHistory, Register};

/// Maximum number of active histories without pending operations. Their keys may be used soon.
pub(crate) const MAX_ACTIVE: usize = 1 << 12;
/// Maximum number of idle histories that could be compact. A report may need them.
pub(crate) const MAX_IDLE: usize = 1 << 16;

/// The form of a history that is not compact.
#[derive(Debug)]
enum State {
    /// There is no pending operation.
    Idle(Box<IdleHistory>),
    Active(Box<Register>),
}

/// The histories of all written keys.
#[derive(Debug)]
pub(crate) struct Histories {
    used: FxHashMap<Key, State>,
    compact: KeyTable<Compact>,
    /// Keys with an active history, in the order of their activation.
    active: VecDeque<Key>,
    /// Keys whose history became idle, in that order; some are active again.
    idle: VecDeque<Key>,
    limits: (usize, usize),
    /// Unused memory for active histories.
    #[expect(clippy::vec_box, reason = "they move between here and the keys without a copy")]
    spare: Vec<Box<Register>>,
}

impl Histories {
    /// No histories. `limits` are the maximum numbers of active and of idle ones without need.
    pub(crate) fn new(limits: (usize, usize)) -> Self {
        Self {
            used: FxHashMap::default(),
            compact: KeyTable::default(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            limits,
            spare: Vec::new(),
        }
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.used.len() + self.compact.len()
    }

    /// The history of a key, if it was written.
    pub(crate) fn get(&mut self, key: &Key) -> Option<&mut Register> {
        if !self.used.contains_key(key) {
            let history = self.compact.remove(key)?.history();
            self.used.insert(*key, State::Idle(Box::new(history)));
        }
        self.activate(key)
    }

    /// The history of a key. A new key gets one: `initially_present` is whether it has an initial
    /// value.
    pub(crate) fn get_or_new(
        &mut self,
        key: &Key,
        initially_present: bool,
        now: u64,
    ) -> &mut Register {
        if !self.used.contains_key(key) {
            let known = self.compact.remove(key).map(Compact::history);
            let history = known.unwrap_or_else(|| Register::new_idle(initially_present, now));
            self.used.insert(*key, State::Idle(Box::new(history)));
        }
        self.activate(key).expect("it was inserted above")
    }

    fn activate(&mut self, key: &Key) -> Option<&mut Register> {
        let state = self.used.get_mut(key)?;
        if let State::Idle(history) = state {
            let register = match self.spare.pop() {
                Some(mut register) => {
                    register.restore(history);
                    register
                }
                None => Box::new(Register::from_idle(history)),
            };
            self.active.push_back(*key);
            *state = State::Active(register);
        }
        match state {
            State::Active(register) => Some(register),
            State::Idle(_) => unreachable!("it was activated above"),
        }
    }

    /// Makes the least recently used histories idle or compact, if there are too many. `now` is the
    /// current timestamp, and `oldest` the invocation of the oldest pending read. `dropped` gets
    /// the clusters that the histories drop.
    pub(crate) fn shrink_unused(&mut self, now: u64, oldest: u64, dropped: &mut Dropped) {
        // Two for each activation, since some must remain active.
        for _ in 0..2 {
            if self.active.len() <= self.limits.0 {
                break;
            }
            self.make_idle(now, dropped);
        }
        for _ in 0..2 {
            if self.idle.len() <= self.limits.1 {
                break;
            }
            self.compact(oldest);
        }
    }

    fn make_idle(&mut self, now: u64, dropped: &mut Dropped) {
        let Some(key) = self.active.pop_front() else { return };
        let Some(state) = self.used.get_mut(&key) else { return };
        let State::Active(register) = state else { return };
        let history = register.idle_form(now);
        dropped.take_from(&key, register);
        let Some(history) = history else {
            self.active.push_back(key);
            return;
        };
        self.idle.push_back(key);
        if let State::Active(register) = std::mem::replace(state, State::Idle(Box::new(history))) {
            self.spare.push(register);
        }
    }

    fn compact(&mut self, oldest: u64) {
        let Some(key) = self.idle.pop_front() else { return };
        // An active history will be in the queue again.
        let Some(State::Idle(history)) = self.used.get(&key) else { return };
        match Compact::new(history, oldest) {
            Some(compact) => {
                self.used.remove(&key);
                self.compact.insert(key, compact);
            }
            None => self.idle.push_back(key),
        }
    }

    /// The largest keys below `bound` (none: of all keys), ascending. There are about `wanted`, and
    /// fewer only if no more exist. Also returns the bound for the next call; none at the end.
    pub(crate) fn below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        let (mut keys, end) = self.compact.below(bound, wanted);
        let within =
            |key: &&Key| bound.is_none_or(|it| *key < it) && end.is_none_or(|it| **key >= it);
        keys.extend(self.used.keys().filter(within));
        keys.sort_unstable();
        (keys, end)
    }

    /// Number of kept writes. It visits every history.
    pub(crate) fn kept_writes(&self) -> usize {
        let of = |state: &State| match state {
            State::Idle(history) => history.clusters.len(),
            State::Active(register) => register.clusters.len(),
        };
        self.compact.len() + self.used.values().map(of).sum::<usize>()
    }
}
