//! Random lists of random snapshots, whose parts are lost, duplicated and reordered.
//!
//! The model has a cache that is written, read, filled and emptied; a store; the snapshot in force;
//! and a controller that takes the next snapshot when the client has the list of the one before, or
//! was given up. The switch may fail at any time, so at any time every record that was acknowledged
//! or read must be in the store, in the snapshot in force, or preserved.

use std::collections::{BTreeMap, BTreeSet};

use netkv_roles::Mutation;
use netkv_roles::mutation;
use netkv_wire::{Key, Sequence};
use netkv_workload::Random;

use crate::client::play::{INCARNATION, Play, at, initial_value_of, key};

const KEYS: u64 = 10;
/// Pairs in a part.
const PART: usize = 2;
const STEPS: usize = 600;

#[derive(Debug, Clone)]
struct Part {
    snapshot: u32,
    part: u16,
    parts: u16,
    list: Vec<(Key, Sequence)>,
}

struct World {
    play: Play,
    random: Random,
    number: u32,
    /// The entries of the switch: the sequence, and whether the record is dirty.
    cache: BTreeMap<Key, (Sequence, bool)>,
    store: BTreeMap<Key, Sequence>,
    in_force: BTreeMap<Key, Sequence>,
    /// The newest sequence that was acknowledged to the client or read by it.
    acknowledged: BTreeMap<Key, Sequence>,
    snapshot: u32,
    /// Unanswered parts of the last list, which the controller sends again.
    unanswered: Vec<Part>,
    /// Copies of parts in the network.
    network: Vec<Part>,
    /// Lists that the client has received completely.
    complete_lists: Vec<(u32, BTreeMap<Key, Sequence>)>,
    arrived: BTreeMap<u32, BTreeSet<u16>>,
    lists: BTreeMap<u32, BTreeMap<Key, Sequence>>,
    /// Number of complete lists when a record was preserved.
    kept_since: BTreeMap<Key, (Sequence, usize)>,
    wrong: Vec<String>,
}

impl World {
    fn new(seed: u64, mutation: Option<Mutation>) -> Self {
        Self {
            play: Play::new(mutation),
            random: Random::new(seed, 1),
            number: 0,
            cache: BTreeMap::new(),
            store: BTreeMap::new(),
            in_force: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            snapshot: 0,
            unanswered: Vec::new(),
            network: Vec::new(),
            complete_lists: Vec::new(),
            arrived: BTreeMap::new(),
            lists: BTreeMap::new(),
            kept_since: BTreeMap::new(),
            wrong: Vec::new(),
        }
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }

    fn any_key(&mut self) -> Key {
        key(self.random.below(KEYS))
    }

    fn step(&mut self) {
        match self.random.below(16) {
            0..4 => self.write(),
            4 => self.read(),
            5 => self.admit(),
            6 => self.evict(),
            7 => self.take_snapshot(),
            8..10 => self.send_again(),
            _ => self.deliver(),
        }
        self.judge();
    }

    fn write(&mut self) {
        let key = self.any_key();
        if self.cache.contains_key(&key) {
            self.number += 1;
            let sequence = at(INCARNATION, self.number);
            self.cache.insert(key, (sequence, true));
            // The answer may be lost; then the write was not acknowledged.
            let request = self.play.write(key);
            if self.chance(0.7) {
                self.play.hit(&request, sequence, None);
                self.acknowledge(key, sequence);
            } else {
                self.play.miss(&request, Sequence::default(), None);
            }
        }
    }

    fn read(&mut self) {
        let key = self.any_key();
        if let Some(&(sequence, true)) = self.cache.get(&key) {
            let read = self.play.read(key);
            self.play.hit(&read, sequence, Some(&initial_value_of(key)));
            self.acknowledge(key, sequence);
        }
    }

    fn acknowledge(&mut self, key: Key, sequence: Sequence) {
        self.acknowledged.insert(key, sequence);
        let now = (sequence, self.complete_lists.len());
        let since = self.kept_since.entry(key).or_insert(now);
        if since.0 != sequence {
            *since = now;
        }
    }

    fn admit(&mut self) {
        let key = self.any_key();
        let stored = self.store.get(&key).copied().unwrap_or_default();
        self.cache.entry(key).or_insert((stored, false));
    }

    /// Evicts an entry. Its record is durable before.
    fn evict(&mut self) {
        let key = self.any_key();
        if let Some((sequence, _)) = self.cache.remove(&key) {
            let stored = self.store.entry(key).or_default();
            *stored = stored.later(sequence);
        }
    }

    fn take_snapshot(&mut self) {
        let given_up = self.chance(0.02);
        if !self.unanswered.is_empty() && !given_up {
            return;
        }
        // Some snapshots are incomplete: their numbers are used, and the one before stays in force.
        self.snapshot += 1 + self.random.below(3) as u32;
        let list: BTreeMap<Key, Sequence> =
            self.cache.iter().map(|(key, (sequence, _))| (*key, *sequence)).collect();
        self.in_force = list.clone();
        let pairs: Vec<_> = list.iter().map(|(key, sequence)| (*key, *sequence)).collect();
        let parts = pairs.len().div_ceil(PART).max(1) as u16;
        let part = |part: u16| Part {
            snapshot: self.snapshot,
            part,
            parts,
            list: pairs.chunks(PART).nth(part.into()).unwrap_or_default().to_vec(),
        };
        // Copies stay in the network for less than two snapshots.
        let oldest = self.unanswered.first().map_or(self.snapshot, |part| part.snapshot);
        self.network.retain(|part| part.snapshot >= oldest);
        self.unanswered = (0..parts).map(part).collect();
        self.network.extend(self.unanswered.iter().cloned());
        self.lists.insert(self.snapshot, list);
    }

    fn send_again(&mut self) {
        self.network.extend(self.unanswered.iter().cloned());
        self.network.truncate(60);
    }

    fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let at = self.random.below(self.network.len() as u64) as usize;
        let part = self.network.swap_remove(at);
        if self.chance(0.2) {
            return;
        }
        if self.chance(0.2) {
            self.network.push(part.clone());
        }
        self.arrive(&part);
    }

    fn arrive(&mut self, part: &Part) {
        let before = self.play.client.kept();
        let Part { snapshot, part: number, parts, ref list } = *part;
        let answered = self.play.part(snapshot, number, parts, list);
        let after: BTreeSet<Key> = self.play.client.kept().iter().map(|(key, _)| *key).collect();
        let arrived = self.arrived.entry(snapshot).or_default();
        arrived.insert(number);
        let newest = self.complete_lists.last().map_or(0, |(snapshot, _)| *snapshot);
        if arrived.len() == usize::from(parts) && snapshot > newest {
            self.complete_lists.push((snapshot, self.lists[&snapshot].clone()));
        }
        for (key, sequence) in before.iter().filter(|(key, _)| !after.contains(key)) {
            self.judge_release(*key, *sequence);
        }
        // The answer may be lost, too.
        if answered && self.chance(0.8) {
            self.unanswered.retain(|it| (it.snapshot, it.part) != (snapshot, number));
        }
    }

    /// Checks that a record was allowed to be released.
    fn judge_release(&mut self, key: Key, sequence: Sequence) {
        let lists = &self.complete_lists;
        let listed = |back: usize| {
            let list = lists.len().checked_sub(back).and_then(|at| lists.get(at));
            list.and_then(|(_, list)| list.get(&key).copied())
        };
        let safe = listed(1).is_some_and(|listed| !sequence.is_newer(listed));
        let since = self.kept_since[&key].1;
        let unlisted = listed(1).is_none() && listed(2).is_none() && lists.len() >= since + 3;
        if !safe && !unlisted {
            self.wrong
                .push(format!("{key:?} at {sequence:?} was released although no list allows it"));
        }
    }

    /// Checks that no record would be lost if the switch failed now.
    fn judge(&mut self) {
        let kept: BTreeMap<Key, Sequence> = self.play.client.kept().into_iter().collect();
        for (key, acknowledged) in &self.acknowledged {
            let places = [&self.store, &self.in_force, &kept];
            let newest = places.iter().filter_map(|place| place.get(key).copied());
            let newest = newest.fold(Sequence::default(), Sequence::later);
            if acknowledged.is_newer(newest) {
                self.wrong.push(format!("{key:?} at {acknowledged:?} is lost"));
            }
        }
    }

    fn quiet_snapshot(&mut self) {
        self.unanswered.clear();
        self.take_snapshot();
        while let Some(part) = self.network.pop() {
            self.arrive(&part);
        }
        self.judge();
    }
}

fn played(seed: u64, mutation: Option<Mutation>) -> World {
    let mut world = World::new(seed, mutation);
    for _ in 0..STEPS {
        world.step();
        if !world.wrong.is_empty() {
            break;
        }
    }
    world
}

#[test]
fn no_acknowledged_record_is_lost_or_kept_forever() {
    let mut most = 0;
    for seed in 0..200 {
        let mut world = played(seed, None);
        assert_eq!(world.wrong, Vec::<String>::new(), "seed {seed}");
        assert!(world.complete_lists.len() >= 3, "seed {seed}: lists arrive");
        for _ in 0..3 {
            world.quiet_snapshot();
        }
        assert_eq!(world.wrong, Vec::<String>::new(), "seed {seed}");
        assert_eq!(world.play.kept(), 0, "seed {seed}: three quiet snapshots release everything");
        most = most.max(world.play.client.preserved().most_records);
    }
    assert!(most > KEYS as usize / 2, "many records are preserved at a time");
}

#[test]
fn a_missing_protection_loses_records() {
    for mutation in [
        mutation::ClientKeepsNoReads,
        mutation::ClientReleasesNewer,
        mutation::ClientReleasesUnlisted,
        mutation::ClientReleasesWithoutAPart,
        mutation::ClientMixesLists,
        mutation::ClientTakesOldLists,
        mutation::ClientCountsSnapshots,
    ] {
        let found = (0..200).any(|seed| !played(seed, Some(mutation)).wrong.is_empty());
        assert!(found, "{mutation:?} loses no record");
    }
}
