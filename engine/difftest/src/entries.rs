//! Generates parts of requests: matches, groups, clone sessions and meter rates.

use netkv_dataplane::{CloneSession, MeterConfig};
use netkv_ir::{Match, MatchKind, Table, TableKey, Value};

use crate::request::Matches;
use crate::rng::Rng;
use crate::value_pool::ValuePool;

/// Up to `most` different replicas.
pub(crate) fn replicas(rng: &mut Rng, most: usize) -> Vec<(u16, u16)> {
    let mut made: Vec<(u16, u16)> =
        (0..rng.below(most + 1)).map(|_| (rng.below(6) as u16, rng.below(4) as u16)).collect();
    made.sort_unstable();
    made.dedup();
    made
}

pub(crate) fn clone_session(rng: &mut Rng) -> CloneSession {
    let packet_length_bytes = if rng.chance(25) { rng.below(64) as u32 } else { 0 };
    CloneSession { replicas: replicas(rng, 2), class_of_service: 0, packet_length_bytes }
}

/// Rates at which the colour changes with a few packets per millisecond.
pub(crate) fn meter_config(rng: &mut Rng) -> MeterConfig {
    let cir = rng.between(0, 200_000);
    let cburst = rng.between(0, 300);
    MeterConfig {
        cir,
        cburst,
        pir: cir + rng.between(0, 200_000),
        pburst: cburst + rng.between(0, 300),
    }
}

/// Whether entries of a table have a priority.
pub(crate) fn has_priority(table: &Table) -> bool {
    let needs_priority =
        |kind| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
    table.keys.iter().any(|key| needs_priority(key.kind))
}

fn masked(value: &Value, mask: &Value) -> Value {
    let words = value.words.iter().zip(&mask.words).map(|(value, mask)| value & mask).collect();
    Value { width: value.width, words }
}

fn is_zero(value: &Value) -> bool {
    value.words.iter().all(|word| *word == 0)
}

/// The highest `length` bits of a width.
fn prefix_mask(width: u32, length: u32) -> Value {
    let mut words = vec![0u64; width.div_ceil(64) as usize];
    for bit in width - length..width {
        words[bit as usize / 64] |= 1 << (bit % 64);
    }
    Value { width, words }
}

/// The match of a key in an entry, mostly one that `likely` satisfies; none for a don't care.
pub(crate) fn key_match(
    key: &TableKey,
    likely: Value,
    pool: &mut ValuePool,
    rng: &mut Rng,
) -> Option<Match> {
    let width = key.width;
    match key.kind {
        MatchKind::Exact => Some(Match::Exact(likely)),
        MatchKind::Optional => rng.chance(70).then_some(Match::Optional(Some(likely))),
        MatchKind::Lpm => {
            let length =
                if rng.chance(40) { width } else { rng.between(0, u64::from(width)) as u32 };
            let mask = prefix_mask(width, length);
            (length > 0).then(|| Match::Lpm(masked(&likely, &mask), length))
        }
        MatchKind::Ternary => {
            let mask = match rng.below(5) {
                0 | 1 => prefix_mask(width, width),
                2 => rng.value(width),
                3 => prefix_mask(width, rng.between(0, u64::from(width)) as u32),
                _ => pool.value(rng, width, None),
            };
            (!is_zero(&mask)).then(|| Match::Ternary(masked(&likely, &mask), mask))
        }
        MatchKind::Range => {
            let other = pool.value(rng, width, None);
            let above = |a: &Value, b: &Value| a.words.iter().rev().gt(b.words.iter().rev());
            let (low, high) =
                if above(&likely, &other) { (other, likely) } else { (likely, other) };
            let everything = is_zero(&low) && high == prefix_mask(width, width);
            (!everything).then_some(Match::Range(low, high))
        }
        MatchKind::Selector => None,
    }
}

/// Members of a value set, and for each one matching value per key.
pub(crate) fn value_set_members(
    keys: &[TableKey],
    size: u64,
    pool: &mut ValuePool,
    rng: &mut Rng,
) -> (Vec<Matches>, Vec<Vec<Value>>) {
    let (mut members, mut samples) = (Vec::new(), Vec::new());
    for _ in 0..rng.below(4).min(size as usize) {
        let mut member = Matches::new();
        let mut sample = Vec::new();
        for (id, key) in (1..).zip(keys) {
            let likely = pool.value(rng, key.width, None);
            sample.push(likely.clone());
            if let Some(one) = key_match(key, likely, pool, rng) {
                member.push((id, one));
            }
        }
        members.push(member);
        samples.push(sample);
    }
    (members, samples)
}
