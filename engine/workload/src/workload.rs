//! The generator: it draws operations from a configuration and a seed.

use std::collections::{BTreeSet, HashSet};

use crate::ahead::{AHEAD, Ahead};
use crate::keys::{Key, key_of};
use crate::law::Law;
use crate::multiget::SizeSampler;
use crate::placement::YCSB_RANKS;
use crate::wire_keys::{MAX_KEY_SIZE, MIN_KEY_SIZE, max_keys};
use crate::{
    GrayZipf, Mix, MultigetSize, OpKind, Operation, Placement, Random, Ranking, Shift, Turn,
    ValueSize, Zipf,
};

/// Maximum number of initial keys of a workload. Memory does not depend on it.
pub const MAX_KEYS: u64 = 1_000_000_000_000;

/// A server that takes turns owns one of so many most popular keys.
const POPULAR: u64 = 100_000;

/// The popularity distribution of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Popularity {
    /// All keys are equally popular.
    Uniform,
    /// Zipf's law over scrambled ranks; `theta` from 0 to 1.2.
    Zipf {
        /// The exponent.
        theta: f64,
    },
    /// Zipf's law over age: the last inserted key is the hottest (YCSB D).
    Latest {
        /// The exponent.
        theta: f64,
    },
}

/// The configuration of a workload. Generators of one rack differ in `stream` only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadConfig {
    /// Number of initial keys; the numbers of their records are 0 to `keys - 1`.
    pub keys: u64,
    /// Which of them are popular, and which server owns each.
    pub placement: Placement,
    /// The popularity of keys.
    pub popularity: Popularity,
    /// The mix of operations.
    pub mix: Mix,
    /// The sizes of values.
    pub value_size: ValueSize,
    /// Share of the updates, those of read-modify-writes included, that are conditional.
    pub conditional: f64,
    /// The number of keys of a multiget; none if reads are for single keys.
    pub multiget: Option<MultigetSize>,
    /// Bytes of a key, for schemes with variable key sizes.
    pub key_size: usize,
    /// Determines the popularity of keys and all shifts.
    pub seed: u64,
    /// The number of this generator, from 0. Each has its own random numbers and its own ids for
    /// inserts.
    pub stream: u64,
    /// The number of generators (at least 1).
    pub streams: u64,
}

impl WorkloadConfig {
    /// Zipf 0.99 over `keys` keys of 16 bytes with values of 128 bytes, one generator.
    pub const fn new(keys: u64, mix: Mix, seed: u64) -> Self {
        Self {
            keys,
            placement: Placement::Seed,
            popularity: Popularity::Zipf { theta: 0.99 },
            mix,
            value_size: ValueSize::Fixed(128),
            conditional: 0.0,
            multiget: None,
            key_size: 16,
            seed,
            stream: 0,
            streams: 1,
        }
    }
}

/// Draws operations (see the crate's documentation).
#[derive(Debug, Clone)]
pub struct Workload {
    config: WorkloadConfig,
    law: Law,
    ranking: Ranking,
    random: Random,
    /// Drawn by [`Workload::draw_ahead`]. `random` is in the state after them.
    ahead: Ahead,
    /// Draws the number of keys of a read.
    sizes: SizeSampler,
    /// Number of inserts that this generator has drawn.
    inserts: u64,
    /// All inserts below this number are complete; read-latest reads these only.
    frontier: u64,
    /// Complete inserts above the frontier.
    completed: BTreeSet<u64>,
    /// The servers whose keys are drawn; none: all.
    turn: Option<Turn>,
}

impl Workload {
    /// A generator for `config`.
    ///
    /// # Errors
    ///
    /// A sentence with the impossible setting and the possible values.
    pub fn new(config: WorkloadConfig) -> Result<Self, String> {
        if config.keys == 0 || config.keys > MAX_KEYS {
            return Err(format!("a workload has from 1 to {MAX_KEYS} keys, not {}", config.keys));
        }
        let theta = match config.popularity {
            Popularity::Uniform => 0.0,
            Popularity::Zipf { theta } | Popularity::Latest { theta } => theta,
        };
        if !(0.0..=1.2).contains(&theta) {
            return Err(format!("the exponent of Zipf's law lies from 0 to 1.2, not {theta}"));
        }
        if config.stream >= config.streams {
            return Err(format!(
                "generator {} does not exist; with {} generators they count from 0",
                config.stream, config.streams
            ));
        }
        if !(0.0..=1.0).contains(&config.conditional) {
            let share = config.conditional;
            return Err(format!("the share of conditional writes is 0 to 1, not {share}"));
        }
        config.mix.check()?;
        config.value_size.check()?;
        check_key_size(&config)?;
        let (law, ranking) = ranks(&config, theta)?;
        // A read that is not a multiget has one key.
        let size = config.multiget.unwrap_or(MultigetSize::Fixed(1));
        size.check()?;
        Ok(Self {
            config,
            sizes: SizeSampler::new(size),
            law,
            ranking,
            random: Random::new(config.seed, config.stream + 1),
            ahead: Ahead::default(),
            inserts: 0,
            frontier: 0,
            completed: BTreeSet::new(),
            turn: None,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &WorkloadConfig {
        &self.config
    }

    /// The generator's random number generator, for arrivals.
    pub fn random(&mut self) -> &mut Random {
        self.rewind();
        &mut self.random
    }

    /// Draws the next operation.
    pub fn draw(&mut self) -> Operation {
        self.rewind();
        let Some(turn) = self.turn else { return self.draw_any() };
        loop {
            let operation = self.draw_any();
            if turn.has(&operation.key) {
                return operation;
            }
            if operation.kind == OpKind::Insert {
                // Reads of the newest keys do not wait for one that nobody inserts.
                self.settle_insert(operation.id);
            }
        }
    }

    /// Draws an operation for any server.
    fn draw_any(&mut self) -> Operation {
        let kind = self.config.mix.draw(&mut self.random);
        let id = if kind == OpKind::Insert {
            let id = self.insert_id(self.inserts);
            self.inserts += 1;
            id
        } else {
            let rank = self.law.draw(&mut self.random);
            self.id_at(rank)
        };
        self.operation(kind, id)
    }

    /// Draws the next operation, the same as [`Workload::draw`]. It draws several at a time, which
    /// is faster: the processor computes them side by side. Whatever changes the workload or takes
    /// its random numbers makes it draw the others again, so a caller does that rarely.
    #[inline]
    pub fn draw_ahead(&mut self) -> Operation {
        if let Some(operation) = self.ahead.next() {
            return operation;
        }
        let latest = matches!(self.config.popularity, Popularity::Latest { .. });
        // An insert has effects beside its random numbers.
        if latest || self.config.mix.insert > 0.0 || self.turn.is_some() {
            return self.draw();
        }
        self.draw_several();
        self.ahead.next().expect("they were drawn above")
    }

    /// Draws the next operations, none of which is an insert.
    fn draw_several(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        let drawn = ahead.refill();
        let mut ranks = [0; AHEAD];
        for rank in &mut ranks {
            let before = self.random.clone();
            let kind = self.config.mix.draw(&mut self.random);
            *rank = self.law.draw(&mut self.random);
            drawn.push((self.operation(kind, 0), before));
        }
        self.ranking.records_at(&mut ranks);
        for ((operation, _), record) in drawn.iter_mut().zip(ranks) {
            let id = self.config.placement.id(record);
            (operation.id, operation.key) = (id, key_of(id));
        }
        self.ahead = ahead;
    }

    /// Drops the operations that were drawn ahead, and restores the state before.
    #[inline]
    fn rewind(&mut self) {
        if let Some(before) = self.ahead.rewind() {
            self.random = before;
        }
    }

    /// An operation of this kind for a key; draws the rest of it.
    #[inline]
    fn operation(&mut self, kind: OpKind, id: u64) -> Operation {
        let size = match kind {
            OpKind::Read | OpKind::Delete => 0,
            _ => self.config.value_size.draw(&mut self.random) as u16,
        };
        let updates = matches!(kind, OpKind::Update | OpKind::ReadModifyWrite);
        // Without conditional writes there is no draw, so that the others stay the same.
        let share = if updates { self.config.conditional } else { 0.0 };
        let conditional = share > 0.0 && self.random.unit() < share;
        Operation { kind, id, key: key_of(id), size, conditional }
    }

    /// Draws the next operation and sets `ids` to its keys. The first id is that of the operation.
    /// A read may have several ids, also equal ones; every other operation has one.
    pub fn draw_keys(&mut self, ids: &mut Vec<u64>) -> Operation {
        let operation = self.draw();
        ids.clear();
        ids.push(operation.id);
        if operation.kind == OpKind::Read {
            for _ in 1..self.sizes.draw(&mut self.random) {
                let rank = self.law.draw(&mut self.random);
                ids.push(self.id_at(rank));
            }
        }
        operation
    }

    /// Completes an insert: read-latest may now read key `id`.
    pub fn settle_insert(&mut self, id: u64) {
        let first = self.insert_id(0);
        let Some(offset) = id.checked_sub(first) else { return };
        self.completed.insert(offset / self.config.streams);
        while self.completed.remove(&self.frontier) {
            self.frontier += 1;
        }
        if let (Law::Zipf(zipf), Popularity::Latest { .. }) =
            (&mut self.law, self.config.popularity)
        {
            zipf.resize(self.config.keys + self.frontier);
        }
    }

    /// Changes the popularity of keys.
    ///
    /// # Errors
    ///
    /// A sentence if the shift exceeds the keyspace, or if popularity follows age.
    pub fn shift(&mut self, shift: Shift) -> Result<(), String> {
        if matches!(self.config.popularity, Popularity::Latest { .. }) {
            return Err("popularity cannot be shifted where it follows age (read-latest); \
                        use zipf or uniform"
                .to_owned());
        }
        self.rewind();
        self.ranking.shift(shift)
    }

    /// Draws operations for keys of these servers only; none: of all.
    ///
    /// # Errors
    ///
    /// A sentence if the rack has no such server, or if the first one owns no popular key.
    pub fn set_turn(&mut self, turn: Option<Turn>) -> Result<(), String> {
        if let Some(turn) = turn {
            let Turn { servers, first, other } = turn;
            if first.max(other) >= servers {
                return Err(format!(
                    "a rack of {servers} servers has no server {}",
                    first.max(other)
                ));
            }
            if !self.hottest(POPULAR).any(|key| turn.is_of_first(&key)) {
                return Err(format!("server {first} owns none of the {POPULAR} most popular keys"));
            }
        }
        self.rewind();
        self.turn = turn;
        Ok(())
    }

    /// The servers whose keys are drawn; none: all.
    pub fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// Changes the mix of the following operations.
    ///
    /// # Errors
    ///
    /// A sentence if the shares do not add up to 1.
    pub fn set_mix(&mut self, mix: Mix) -> Result<(), String> {
        mix.check()?;
        self.rewind();
        self.config.mix = mix;
        Ok(())
    }

    /// Changes the sizes of the values of the following writes.
    ///
    /// # Errors
    ///
    /// A sentence if the sizes are impossible.
    pub fn set_value_size(&mut self, size: ValueSize) -> Result<(), String> {
        size.check()?;
        self.rewind();
        self.config.value_size = size;
        Ok(())
    }

    /// The key with this current popularity rank (0 is the hottest).
    pub fn key_at(&self, rank: u64) -> Key {
        key_of(self.id_at(rank))
    }

    /// The `count` currently hottest keys, the hottest first; fewer if there are fewer keys.
    pub fn hottest(&self, count: u64) -> impl Iterator<Item = Key> {
        // A record with several ranks counts at the first of them.
        let mut seen = HashSet::new();
        let ids = (0..self.law.ranks()).map(|rank| self.id_at(rank));
        ids.filter(move |id| seen.insert(*id))
            .take(count.min(self.law.ranks()) as usize)
            .map(key_of)
    }

    /// Probability that an operation other than an insert has one of the `top` hottest keys. It is
    /// the hit ratio of a perfect cache of `top` keys.
    pub fn mass(&self, top: u64) -> f64 {
        self.law.mass(top)
    }

    fn insert_id(&self, number: u64) -> u64 {
        let added = number * self.config.streams + self.config.stream;
        self.config.placement.id(self.config.keys + added)
    }

    fn id_at(&self, rank: u64) -> u64 {
        if !matches!(self.config.popularity, Popularity::Latest { .. }) {
            return self.config.placement.id(self.ranking.record_at(rank));
        }
        let age_rank = self.law.ranks() - 1 - rank;
        match age_rank.checked_sub(self.config.keys) {
            Some(number) => self.insert_id(number),
            None => self.config.placement.id(age_rank),
        }
    }
}

/// How ranks are drawn, and the records that have them.
fn ranks(config: &WorkloadConfig, theta: f64) -> Result<(Law, Ranking), String> {
    let WorkloadConfig { keys, seed, .. } = *config;
    let exact = Law::Zipf(Zipf::new(keys, theta));
    Ok(match (config.placement, config.popularity) {
        (Placement::Seed, _) => (exact, Ranking::permuted(keys, seed)),
        (Placement::Ycsb, Popularity::Uniform | Popularity::Latest { .. }) => {
            (exact, Ranking::numbered(keys, seed))
        }
        (Placement::Ycsb, Popularity::Zipf { .. }) => {
            if theta >= 1.0 {
                return Err(format!(
                    "YCSB's generator has an exponent of Zipf's law below 1, not {theta}"
                ));
            }
            let law = Law::Gray(GrayZipf::new(YCSB_RANKS, theta));
            (law, Ranking::hashed(YCSB_RANKS, keys, seed))
        }
    })
}

/// Checks that the key size permits as many keys as the workload needs.
fn check_key_size(config: &WorkloadConfig) -> Result<(), String> {
    let WorkloadConfig { key_size, keys, placement, .. } = *config;
    if placement == Placement::Ycsb && key_size != 16 {
        return Err(format!(
            "records that are placed as YCSB's have keys of 16 bytes, not {key_size}"
        ));
    }
    if !(MIN_KEY_SIZE..=MAX_KEY_SIZE).contains(&key_size) {
        return Err(format!("a key has {MIN_KEY_SIZE} to {MAX_KEY_SIZE} bytes, not {key_size}"));
    }
    // Inserts need ids above the initial ones.
    let max = if config.mix.insert > 0.0 { max_keys(key_size) / 2 } else { max_keys(key_size) };
    if keys > max {
        return Err(format!(
            "keys of {key_size} bytes are enough for {max} keys, not for {keys}; make them longer"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
