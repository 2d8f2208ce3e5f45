//! The reference model of tables in tests: a linear search that compares bit by bit.
//!
//! It also generates random tables, entries and keys. Their values are similar, so that most
//! lookups hit, and many entries match the same key.

use netkv_ir::{Match, MatchKind, TableKey, Value};

use super::entry;
use super::exact_map::SlotAction;
use super::index::Index;
use super::row::in_range;
use super::table::kind_of;
use crate::random::Random;
use crate::wide;

/// The action of entries, which the index does not use.
const NOTHING: SlotAction<'_> = SlotAction { action: 0, data: &[] };

/// Entries in the order in which they were added: matches, priority, id.
#[derive(Default)]
struct Model(Vec<(Vec<Match>, u32, u32)>);

impl Model {
    /// Id of the entry that wins by the rules of P4Runtime.
    fn find(&self, key: &[Value]) -> Option<u32> {
        let longest = |matches: &[Match]| {
            matches.iter().find_map(|one| if let Match::Lpm(_, n) = one { Some(*n) } else { None })
        };
        let mut best: Option<&(Vec<Match>, u32, u32)> = None;
        for candidate in self.0.iter().filter(|(matches, ..)| all_hold(matches, key)) {
            // Among entries without a priority, the longest prefix wins.
            let wins = best.is_none_or(|best| match (candidate.1, best.1) {
                (0, 0) => longest(&candidate.0) > longest(&best.0),
                (ours, other) => ours > other,
            });
            if wins {
                best = Some(candidate);
            }
        }
        best.map(|(.., id)| *id)
    }
}

fn all_hold(matches: &[Match], key: &[Value]) -> bool {
    matches.iter().zip(key).all(|(one, key)| {
        let equal = |value: &Value, looks_at: &dyn Fn(u32) -> bool| {
            (0..key.width)
                .all(|at| !looks_at(at) || wide::bit(&value.words, at) == wide::bit(&key.words, at))
        };
        match one {
            Match::Exact(value) | Match::Optional(Some(value)) => value == key,
            Match::Optional(None) => true,
            Match::Lpm(value, length) => equal(value, &|at| at >= key.width - length),
            Match::Ternary(value, mask) => equal(value, &|at| wide::bit(&mask.words, at)),
            Match::Range(low, high) => {
                wide::compare(&low.words, &key.words).is_le()
                    && wide::compare(&key.words, &high.words).is_le()
            }
        }
    })
}

/// A random value, often one of a few similar ones.
fn value(random: &mut Random, width: u32) -> Value {
    let words = (0..width.div_ceil(64)).map(|_| random.next()).collect();
    let mut value = Value::from_words(width, words);
    match random.between(0, 3) {
        0 => {}
        // Few bits may be set, so that many values are equal in most bytes.
        1 => {
            let kept = random.between(0, u64::from(width) - 1) as u32;
            value.words.iter_mut().for_each(|word| *word &= 0x0101_0101_0101_0101 << (kept % 8));
            return Value::from_words(width, value.words);
        }
        // Only one byte may be nonzero.
        2 => {
            let byte = random.between(0, u64::from(width) - 1) as u32 / 8;
            for (i, word) in value.words.iter_mut().enumerate() {
                *word &= if i as u32 == byte / 8 { 0x33 << (byte % 8 * 8) } else { 0 };
            }
        }
        _ => value.words.fill(0),
    }
    value
}

fn random_match(random: &mut Random, key: &TableKey) -> Match {
    let width = key.width;
    let first = value(random, width);
    let one = match key.kind {
        MatchKind::Exact | MatchKind::Selector => Match::Exact(first),
        MatchKind::Lpm => Match::Lpm(first, random.between(0, u64::from(width)) as u32),
        MatchKind::Ternary => {
            let mut mask = value(random, width);
            if random.between(0, 1) == 1 {
                mask.words.iter_mut().for_each(|word| *word = !*word);
            }
            Match::Ternary(first, Value::from_words(width, mask.words))
        }
        MatchKind::Range => {
            let mut second = value(random, width);
            // The ends are often similar: they differ in the lowest bits only.
            if random.between(0, 1) == 1 {
                let low = second.words[0] & 0x3ff;
                second.words.clone_from(&first.words);
                second.words[0] ^= low;
                second = Value::from_words(width, second.words);
            }
            if wide::compare(&first.words, &second.words).is_le() {
                Match::Range(first, second)
            } else {
                Match::Range(second, first)
            }
        }
        MatchKind::Optional => Match::Optional((random.between(0, 2) > 0).then_some(first)),
    };
    entry::canonical(&one)
}

/// A value that satisfies a match. With `misses`, a similar value that often does not satisfy it.
fn near(random: &mut Random, one: &Match, width: u32, misses: bool) -> Value {
    let noise = value(random, width);
    let under = |value: &Value, mask: &[u64]| {
        let words = value.words.iter().zip(mask).zip(&noise.words);
        Value::from_words(width, words.map(|((v, m), n)| (v & m) | (n & !m)).collect())
    };
    let mut found = match one {
        Match::Exact(value) | Match::Optional(Some(value)) => value.clone(),
        Match::Optional(None) => noise,
        Match::Ternary(value, mask) => under(value, &mask.words),
        Match::Lpm(value, length) => {
            let mut mask = vec![0; value.words.len()];
            wide::set_bits(&mut mask, width - length, width);
            under(value, &mask)
        }
        Match::Range(low, high) => {
            // The upper bits of one end, and random lower bits.
            let end = if random.between(0, 1) == 0 { low } else { high };
            let mut mask = vec![0; low.words.len()];
            let from = random.between(0, u64::from(width)) as u32;
            wide::set_bits(&mut mask, from, width);
            let near = under(end, &mask);
            if in_range(&near.words, &low.words, &high.words) || misses {
                near
            } else {
                end.clone()
            }
        }
    };
    if misses {
        match random.between(0, 2) {
            0 => {
                let bit = random.between(0, u64::from(width) - 1) as u32;
                found.words[(bit / 64) as usize] ^= 1 << (bit % 64);
            }
            1 => drop(wide::add(&mut found.words, &[1])),
            _ => drop(wide::sub(&mut found.words, &[1])),
        }
    }
    Value::from_words(width, found.words)
}

/// Keys of these kinds with random widths from 1 to 200 bits, mostly narrow.
pub(super) fn keys(random: &mut Random, kinds: &[MatchKind]) -> Vec<TableKey> {
    let widest = [8, 24, 64, 200];
    let mut key = |kind: &MatchKind| {
        let widest = widest[random.between(0, 3) as usize];
        let width = random.between(1, widest) as u32;
        TableKey { name: String::new(), width, kind: *kind }
    };
    kinds.iter().map(&mut key).collect()
}

/// Adds, removes and looks up random entries. Asserts that index and model return the same entry.
/// Returns the number of hits.
pub(super) fn compare_with_index(
    random: &mut Random,
    keys: &[TableKey],
    rounds: u32,
    entries: usize,
) -> u32 {
    let kind = kind_of(keys).expect("keys that go together");
    let (mut index, mut model) = (Index::new(kind, keys, 0), Model::default());
    let (mut free, mut hits) = ((0..entries as u32).rev().collect::<Vec<u32>>(), 0);
    let largest_priority = [1, 3, 1000][random.between(0, 2) as usize];
    for round in 0..rounds {
        // The table alternately grows and shrinks for many rounds.
        let grows = (round / (3 * entries as u32)).is_multiple_of(2);
        let removes = if grows { 1 } else { 7 };
        if random.between(0, 9) < removes && !model.0.is_empty() {
            let at = random.between(0, model.0.len() as u64 - 1) as usize;
            let (matches, _, id) = model.0.remove(at);
            index.remove(&matches, id);
            free.push(id);
        } else if let Some(id) = free.pop() {
            let matches: Vec<Match> = keys.iter().map(|key| random_match(random, key)).collect();
            let priority = match kind {
                super::TableKind::Priority => random.between(1, largest_priority) as u32,
                _ => 0,
            };
            if model.0.iter().any(|(other, p, _)| *other == matches && *p == priority) {
                free.push(id);
            } else {
                index.insert(&matches, priority, id, NOTHING);
                model.0.push((matches, priority, id));
            }
        }
        for _ in 0..2 {
            if model.0.is_empty() {
                break;
            }
            let at = random.between(0, model.0.len() as u64 - 1) as usize;
            // One lookup in three may miss in one field.
            let missed = random.between(0, 3 * keys.len() as u64 - 1) as usize;
            let fields = model.0[at].0.iter().zip(keys).enumerate();
            let key: Vec<Value> = fields
                .map(|(field, (one, key))| near(random, one, key.width, field == missed))
                .collect();
            let words: Vec<u64> = key.iter().flat_map(|value| value.words.clone()).collect();
            let expected = model.find(&key);
            assert_eq!(index.find(&words), expected, "{keys:?} {key:?}");
            hits += u32::from(expected.is_some());
        }
    }
    hits
}
