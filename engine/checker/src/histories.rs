//! What is known of every key that was written, in as little memory as its use allows.
//!
//! A key is awake while operations are under way, at rest when they are over, and settled when many
//! others have been used since. It wakes as soon as it is used again. How many are kept awake and at
//! rest is a matter of speed and of the times in reports; judgements do not depend on it.

use std::collections::VecDeque;

use netkv_wire::Key;
use netkv_workload::KeyTable;
use rustc_hash::FxHashMap;

use crate::past::Past;
use crate::register::{Register, Rest};
use crate::settled::Settled;

/// Keys that stay awake without need, because they may be used again soon.
pub(crate) const MAX_AWAKE: usize = 1 << 12;
/// Keys that stay at rest without need, because they may be in a report.
pub(crate) const MAX_RESTING: usize = 1 << 16;

#[derive(Debug)]
enum State {
    /// Nothing is under way.
    Rest(Box<Rest>),
    Awake(Box<Register>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Keys {
    used: FxHashMap<Key, State>,
    settled: KeyTable<Settled>,
    /// Keys that are awake, in the order in which they woke.
    awake: VecDeque<Key>,
    /// Keys that came to rest, in that order; some have woken since.
    resting: VecDeque<Key>,
    room: (usize, usize),
    /// For keys that wake.
    #[expect(clippy::vec_box, reason = "they move between here and the keys without a copy")]
    spare: Vec<Box<Register>>,
}

impl Keys {
    /// None yet; `room` says how many stay awake, and at rest, without need.
    pub(crate) fn new(room: (usize, usize)) -> Self {
        Self {
            used: FxHashMap::default(),
            settled: KeyTable::default(),
            awake: VecDeque::new(),
            resting: VecDeque::new(),
            room,
            spare: Vec::new(),
        }
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.used.len() + self.settled.len()
    }

    /// The history of a key, if it was written.
    pub(crate) fn get(&mut self, key: &Key) -> Option<&mut Register> {
        if !self.used.contains_key(key) {
            let rest = self.settled.remove(key)?.rest();
            self.used.insert(*key, State::Rest(Box::new(rest)));
        }
        self.wake(key)
    }

    /// The history of a key; if it is a new one, whether it had a value, and the moment.
    pub(crate) fn get_or_new(&mut self, key: &Key, existed: bool, now: u64) -> &mut Register {
        if !self.used.contains_key(key) {
            let known = self.settled.remove(key).map(Settled::rest);
            let rest = known.unwrap_or_else(|| Register::rest_of_new(existed, now));
            self.used.insert(*key, State::Rest(Box::new(rest)));
        }
        self.wake(key).expect("it was put there above")
    }

    fn wake(&mut self, key: &Key) -> Option<&mut Register> {
        let state = self.used.get_mut(key)?;
        if let State::Rest(rest) = state {
            let register = match self.spare.pop() {
                Some(mut register) => {
                    register.wake(rest);
                    register
                }
                None => Box::new(Register::from_rest(rest)),
            };
            self.awake.push_back(*key);
            *state = State::Awake(register);
        }
        match state {
            State::Awake(register) => Some(register),
            State::Rest(_) => unreachable!("it was woken above"),
        }
    }

    /// Keeps no more of keys than is needed, of those that were used first: where `now` is the
    /// present moment, and `oldest` when the oldest read under way began. What they drop goes to
    /// `past`.
    pub(crate) fn put_to_rest(&mut self, now: u64, oldest: u64, past: &mut Past) {
        // Two for each that wakes, so that those still in use do not pile up.
        for _ in 0..2 {
            if self.awake.len() <= self.room.0 {
                break;
            }
            self.let_rest(now, past);
        }
        for _ in 0..2 {
            if self.resting.len() <= self.room.1 {
                break;
            }
            self.settle(oldest);
        }
    }

    fn let_rest(&mut self, now: u64, past: &mut Past) {
        let Some(key) = self.awake.pop_front() else { return };
        let Some(state) = self.used.get_mut(&key) else { return };
        let State::Awake(register) = state else { return };
        let rest = register.rest(now);
        past.take(&key, register);
        let Some(rest) = rest else {
            self.awake.push_back(key);
            return;
        };
        self.resting.push_back(key);
        if let State::Awake(register) = std::mem::replace(state, State::Rest(Box::new(rest))) {
            self.spare.push(register);
        }
    }

    fn settle(&mut self, oldest: u64) {
        let Some(key) = self.resting.pop_front() else { return };
        // One that has woken will be in the queue again.
        let Some(State::Rest(rest)) = self.used.get(&key) else { return };
        match Settled::new(rest, oldest) {
            Some(settled) => {
                self.used.remove(&key);
                self.settled.insert(key, settled);
            }
            None => self.resting.push_back(key),
        }
    }

    /// The greatest keys below `bound` (none: of all), ascending: about `wanted`, fewer only if
    /// there are no more. With them where they end; none if these were all.
    pub(crate) fn below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        let (mut keys, end) = self.settled.below(bound, wanted);
        let within =
            |key: &&Key| bound.is_none_or(|it| *key < it) && end.is_none_or(|it| **key >= it);
        keys.extend(self.used.keys().filter(within));
        keys.sort_unstable();
        (keys, end)
    }

    /// Writes that are remembered, counted one by one.
    pub(crate) fn remembered(&self) -> usize {
        let of = |state: &State| match state {
            State::Rest(rest) => rest.clusters.len(),
            State::Awake(register) => register.clusters.len(),
        };
        self.settled.len() + self.used.values().map(of).sum::<usize>()
    }
}
