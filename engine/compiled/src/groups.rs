//! Which paths to a block share a variant of it.
//!
//! Paths that know the same have the same variant. While there are too many variants, the two are
//! joined that lose the least: the fewest of the facts on which the rest of the program depends.

use netkv_ir::{Program, Word};

use crate::known::Known;
use crate::words::Words;

/// Paths that share a variant.
pub(crate) struct Group {
    /// What all of them know.
    pub(crate) known: Known,
    /// The arrivals.
    pub(crate) members: Vec<usize>,
}

/// How much depends on what is known of each word; 0 if it does not distinguish paths.
#[derive(Debug, Clone)]
pub(crate) struct Weights(Vec<u32>);

impl Weights {
    pub(crate) fn none(program: &Program) -> Self {
        Self(vec![0; program.state_words as usize])
    }

    pub(crate) fn add(&mut self, word: Word, weight: u32) {
        self.0[word as usize] += weight;
    }

    /// Only those of some words.
    fn of(&self, live: &Words) -> Vec<(Word, u32)> {
        let weights =
            (0..).zip(&self.0).filter(|(word, weight)| **weight > 0 && live.contains(*word));
        weights.map(|(word, weight)| (word, *weight)).collect()
    }
}

/// Groups paths by what they know of live words: at most `limit` groups.
pub(crate) fn groups(
    arrived: Vec<(usize, Known)>,
    weights: &Weights,
    live: &Words,
    limit: usize,
) -> Vec<Group> {
    let weights = weights.of(live);
    let distance = |one: &Group, other: &Group| -> u32 {
        let differ =
            weights.iter().filter(|(word, _)| one.known.get(*word) != other.known.get(*word));
        differ.map(|(_, weight)| weight).sum()
    };
    let mut groups: Vec<Group> = Vec::new();
    for (at, known) in arrived {
        let next = Group { known, members: vec![at] };
        match groups.iter_mut().find(|group| distance(group, &next) == 0) {
            Some(group) => group.join(next),
            None => groups.push(next),
        }
    }
    // The distance of each group to each one after it.
    let mut distances: Vec<Vec<u32>> = (0..groups.len())
        .map(|at| groups[at + 1..].iter().map(|other| distance(&groups[at], other)).collect())
        .collect();
    while groups.len() > limit.max(1) {
        let pairs = (0..).zip(&distances).flat_map(|(at, row)| {
            row.iter().zip(at + 1..).map(move |(distance, other)| (*distance, at, other))
        });
        let Some((_, at, other)) = pairs.min() else { break };
        let joined = groups.remove(other);
        groups[at].join(joined);
        distances.remove(other);
        for (row, of) in (0..other).zip(&mut distances) {
            of.remove(other - row - 1);
        }
        for before in 0..at {
            distances[before][at - before - 1] = distance(&groups[before], &groups[at]);
        }
        distances[at] = groups[at + 1..].iter().map(|other| distance(&groups[at], other)).collect();
    }
    groups
}

impl Group {
    fn join(&mut self, other: Group) {
        self.known.join(&other.known);
        self.members.extend(other.members);
    }
}

#[cfg(test)]
mod tests {
    use crate::program_of::program_of;

    use super::*;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    struct headers_t { }
    struct meta_t { bit<8> a; bit<8> b; bit<8> c; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start { transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control C(inout headers_t h, inout meta_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    /// The members of the groups of paths with these values of the first three words, which have
    /// these weights.
    fn grouped(
        values: &[[Option<u64>; 3]],
        weights: [u32; 3],
        live: &[Word],
        limit: usize,
    ) -> Vec<Vec<usize>> {
        let program = program_of(SOURCE);
        let arrived = values.iter().enumerate().map(|(at, values)| {
            let mut known = Known::all(&program, None);
            (0..).zip(values).for_each(|(word, value)| known.set(word, *value));
            (at, known)
        });
        let (mut all, mut words) = (Weights::none(&program), Words::empty(&program));
        (0..).zip(weights).for_each(|(word, weight)| all.add(word, weight));
        live.iter().for_each(|word| words.add(*word, 1));
        let groups = groups(arrived.collect(), &all, &words, limit);
        for group in &groups {
            for (word, first) in (0..).zip(values[group.members[0]]) {
                let all_know = group.members.iter().all(|at| values[*at][word as usize] == first);
                assert_eq!(group.known.get(word), first.filter(|_| all_know));
            }
        }
        groups.into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn paths_that_know_the_same_of_live_words_are_one_group() {
        let values = [[Some(1), Some(5), None], [Some(2), Some(5), None], [Some(1), Some(6), None]];
        assert_eq!(grouped(&values, [1, 1, 1], &[0, 1, 2], 9), [[0], [1], [2]]);
        assert_eq!(grouped(&values, [1, 1, 1], &[0], 9), [vec![0, 2], vec![1]]);
        assert_eq!(grouped(&values, [0, 1, 1], &[0, 1], 9), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn the_groups_that_lose_the_least_are_joined() {
        let values = [
            [Some(1), Some(1), Some(1)],
            [Some(2), Some(1), Some(1)],
            [Some(1), Some(2), Some(2)],
            [Some(1), Some(1), None],
        ];
        let all = [0, 1, 2];
        assert_eq!(grouped(&values, [9, 3, 1], &all, 3), [vec![0, 3], vec![1], vec![2]]);
        assert_eq!(grouped(&values, [9, 3, 1], &all, 2), [vec![0, 3, 2], vec![1]]);
        assert_eq!(grouped(&values, [1, 3, 9], &all, 3), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(grouped(&values, [1, 3, 9], &all, 1), [[0, 1, 3, 2]].map(Vec::from));
    }
}
