//! Random orders of events, with restarts and a store that ends calls in any order: the newest
//! write is kept, each request takes effect once, and answers are correct.

use netkv_roles::Server as _;
use std::collections::HashMap;

use netkv_roles::MILLISECOND;
use netkv_wire::{CONTROLLER_SENDER, Op, Sequence, Status};
use netkv_workload::Random;

use crate::common::OwnedResult;
use crate::frames::{Content, INCARNATION, Incoming};
use crate::rig::Rig;

const KEYS: u64 = 3;
/// The client whose writes the switch has applied.
const SWITCH: u16 = 3;

/// A server under random events, and the state that an observer of its frames and store knows.
struct Observer {
    rig: Rig,
    random: Random,
    /// Numbers begin near the end of the range, so that they wrap.
    number: u32,
    incarnation: u32,
    /// Frames under way, which may be reordered, duplicated or lost.
    under_way: Vec<Incoming>,
    /// Results of the store that the server has not received yet.
    unreported: Vec<(u32, OwnedResult)>,
    /// The RESTORE messages of the controller, by number.
    evicted: HashMap<u32, Incoming>,
    /// The sequences that the switch gave to the copies of each write.
    sequences: HashMap<(u16, u32), Vec<Sequence>>,
    /// For each request that was answered ok: the key, and the sequence in the answer.
    done: HashMap<(u16, u32), (u64, Sequence)>,
    stored: HashMap<u64, (Content, Sequence)>,
}

impl Observer {
    fn new(seed: u64) -> Self {
        let mut rig = Rig::new(None);
        rig.hangs = true;
        let mut observer = Self {
            rig,
            random: Random::new(seed, 0xfa),
            number: u32::MAX - 40,
            incarnation: INCARNATION,
            under_way: Vec::new(),
            unreported: Vec::new(),
            evicted: HashMap::new(),
            sequences: HashMap::new(),
            done: HashMap::new(),
            stored: HashMap::new(),
        };
        for key in 0..KEYS {
            let stored = observer.rig.stored_of(key);
            observer.stored.insert(key, stored);
        }
        observer
    }

    /// A record that was written in the switch is evicted.
    fn evict(&mut self, request: u32, key: u64) {
        self.number = self.number.wrapping_add(1).max(1);
        let sequence = Sequence { incarnation: self.incarnation, number: self.number };
        let incoming = Incoming::restore(request, (SWITCH, request), sequence).of_key(key);
        self.sequences.insert((SWITCH, request), vec![sequence]);
        self.under_way.push(incoming);
        self.evicted.insert(request, incoming);
    }

    /// A copy of a request passes the switch.
    fn pass(&mut self, client: u16, request: u32, key: u64, op: Op) {
        self.number = self.number.wrapping_add(1).max(1);
        let sequence = Sequence { incarnation: self.incarnation, number: self.number };
        let incoming = Incoming::client(op, client, request, sequence).of_key(key);
        self.sequences.entry((client, request)).or_default().push(sequence);
        self.under_way.push(incoming);
    }

    fn step(&mut self, request: u32) {
        let below = |random: &mut Random, limit: usize| random.below(limit as u64) as usize;
        match self.random.below(16) {
            0..=4 => {
                let key = self.random.below(KEYS);
                let client = 1 + self.random.below(3) as u16;
                if client == SWITCH {
                    self.evict(request, key);
                    return;
                }
                let op = [Op::Put, Op::Put, Op::Delete][below(&mut self.random, 3)];
                // Some are duplicated, and get two numbers.
                for _ in 0..1 + self.random.below(2) {
                    self.pass(client, request, key, op);
                }
            }
            5..=9 if !self.under_way.is_empty() => {
                let at = below(&mut self.random, self.under_way.len());
                let incoming = self.under_way[at];
                if self.random.below(4) > 0 {
                    self.under_way.swap_remove(at);
                }
                self.rig.arrive(&incoming);
            }
            10..=11 => self.unreported.extend(self.rig.carry_out_one()),
            12..=13 if !self.unreported.is_empty() => {
                let at = below(&mut self.random, self.unreported.len());
                let (id, result) = self.unreported.swap_remove(at);
                self.rig.report_result(id, &result);
            }
            14 if self.random.below(8) == 0 => {
                self.unreported.clear();
                self.rig.restart(0);
            }
            15 if self.random.below(8) == 0 => {
                self.incarnation = self.incarnation.wrapping_add(2);
                self.number = u32::MAX - 40;
            }
            _ => self.rig.wait(MILLISECOND),
        }
        self.check();
    }

    /// Checks the store and the answers.
    fn check(&mut self) {
        for key in 0..KEYS {
            let (content, sequence) = self.rig.stored_of(key);
            let before = self.stored.insert(key, (content, sequence)).expect("it was there");
            if before == (content, sequence) {
                continue;
            }
            assert!(sequence.is_newer(before.1), "{before:?} is overwritten by {sequence:?}");
            if let Some(writer) = content {
                let given = &self.sequences[&writer];
                assert!(given.contains(&sequence), "{writer:?} got {given:?}, not {sequence:?}");
            }
        }
        for outgoing in std::mem::take(&mut self.rig.outgoing) {
            if outgoing.status == Status::Overloaded {
                continue;
            }
            assert_eq!(outgoing.status, Status::Ok);
            let (sender, id) = (outgoing.sender, outgoing.request);
            let key = (0..KEYS).find(|id| netkv_workload::key_of(*id) == outgoing.key).unwrap();
            // A write that is answered is in the store, or was overwritten there.
            let stored = self.stored[&key].1;
            assert!(
                !outgoing.sequence().is_newer(stored),
                "{outgoing:?}, but {stored:?} is stored"
            );
            let first = self.done.entry((sender, id)).or_insert((key, outgoing.sequence()));
            assert!(!first.1.is_newer(outgoing.sequence()), "{outgoing:?} after {first:?}");
        }
    }

    /// Ends all requests, and checks that copies of answered requests have no effect.
    fn finish(mut self) -> (usize, u64) {
        self.rig.resume();
        for (id, result) in std::mem::take(&mut self.unreported) {
            self.rig.report_result(id, &result);
        }
        self.rig.resume();
        self.check();
        let before = self.stored.clone();
        let done: Vec<(u16, u32)> = self.done.keys().copied().collect();
        for (client, request) in done {
            let key = self.done[&(client, request)].0;
            if client == CONTROLLER_SENDER {
                self.rig.arrive(&self.evicted[&request]);
                continue;
            }
            for op in [Op::Put, Op::Delete] {
                self.pass(client, request, key, op);
                let copy = self.under_way.pop().expect("it has just passed");
                self.rig.arrive(&copy);
            }
        }
        self.check();
        assert_eq!(self.stored, before, "a copy has had an effect");
        assert_eq!(self.rig.server.busy_keys(), 0, "a key hangs");
        (self.done.len(), self.rig.server.write_back_stats().guarded)
    }
}

#[test]
fn newest_write_is_kept_and_none_is_applied_twice() {
    let (mut done, mut guarded) = (0, 0);
    for seed in 0..2000 {
        let mut observer = Observer::new(seed);
        (1..200).for_each(|request| observer.step(request));
        let of_one = observer.finish();
        done += of_one.0;
        guarded += of_one.1;
    }
    println!("{done} writes answered, {guarded} in last incarnations without effect");
    assert!(done > 20_000 && guarded > 1000, "the test must exercise both cases");
}
