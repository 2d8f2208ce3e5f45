//! Longest prefix match: a path-compressed trie over the bytes of the key.
//!
//! The exact keys' bytes come first, then those of the lpm key, so that one trie serves tables
//! with exact keys beside the lpm key: an entry is a prefix of that string of bytes. A node stands
//! for the bytes that all entries below it share and branches on the next one. It holds
//!
//! - the entries that end within that byte (0 to 7 bits of it), numbered as a heap: the prefix of
//!   `n` bits `b` is `2^n + b`, so that the next shorter one is half of it;
//! - a child per value of that byte: a node, or a single entry, which then needs no node.
//!
//! Both are arrays of 256 places that store only what is there, so a node takes about 150 bytes
//! however many values are possible. Why this structure:
//!
//! - a lookup visits at most one node per byte of the key (4 for an IPv4 route, 16 for IPv6),
//!   however many entries and prefix lengths there are; in practice about the logarithm of the
//!   entries to the base 256, because paths without a branch take no nodes. A hash map per prefix
//!   length, which was here before, probes once per length that occurs; binary search over the
//!   lengths probes less, but one new short prefix may change a marker of every entry under it;
//! - an entry comes or goes by changing one node and at most one more beside it: nothing is
//!   rebuilt, nothing grows with the number of entries;
//! - bytes of the key are read where they stand: no lookup allocates, whatever the width.

use super::bytes::{self, KeyByte};
use super::sparse::Sparse;
use crate::bits;
use crate::wide;

/// Marks a child that is an entry and no node.
const ENTRY: u32 = 1 << 31;

#[derive(Debug)]
struct Node {
    /// The byte of the key that the node branches on.
    at: usize,
    /// The bytes between the one that the parent branches on and `at`.
    skip: Box<[u8]>,
    /// Entries that end within the byte.
    ends: Sparse,
    /// Nodes, or entries with [`ENTRY`] set.
    children: Sparse,
}

impl Node {
    fn new(at: usize, skip: &[u8]) -> Self {
        Self { at, skip: skip.into(), ends: Sparse::default(), children: Sparse::default() }
    }
}

/// An installed entry.
#[derive(Debug, Clone, Default)]
struct Prefix {
    /// Its bits, counted from the first byte of the key.
    bits: u32,
    /// Bits of the lpm key that it does not look at.
    free: u32,
}

/// Entries by exact keys and one prefix.
#[derive(Debug)]
pub(super) struct Lpm {
    /// Bytes of the key, those of the lpm key last.
    bytes: Box<[KeyByte]>,
    words: usize,
    /// First word and width of the lpm key.
    lpm_word: usize,
    lpm_width: u32,
    /// The root is node 0.
    nodes: Vec<Node>,
    unused: Vec<u32>,
    /// By id of the entry.
    prefixes: Vec<Prefix>,
    /// `words` words for each id.
    values: Vec<u64>,
}

impl Lpm {
    /// A table with keys of these widths, of which `lpm` is the lpm key and the others are exact.
    pub(super) fn new(widths: &[u32], lpm: usize) -> Self {
        let fields: Vec<(usize, u32)> =
            bytes::first_words(widths).zip(widths.iter().copied()).collect();
        let exact = fields.iter().enumerate().filter(|(key, _)| *key != lpm);
        let in_order = exact.map(|(_, field)| field).chain([&fields[lpm]]);
        Self {
            bytes: in_order.flat_map(|(from, width)| bytes::field(*from, *width)).collect(),
            words: widths.iter().map(|width| wide::words(*width)).sum(),
            lpm_word: fields[lpm].0,
            lpm_width: widths[lpm],
            nodes: vec![Node::new(0, &[])],
            unused: Vec::new(),
            prefixes: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The entry with the longest prefix of this key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        self.find_counted(key, || ())
    }

    /// As `find`; calls `visit` for each node.
    #[inline]
    fn find_counted(&self, key: &[u64], mut visit: impl FnMut()) -> Option<u32> {
        let mut best = None;
        let mut node = &self.nodes[0];
        loop {
            visit();
            let byte = self.bytes[node.at].of(key);
            best = node.ends.nearest_ancestor(128 | (byte >> 1)).or(best);
            let Some(child) = node.children.get(byte) else { return best };
            if child & ENTRY != 0 {
                let id = child & !ENTRY;
                return if self.covers(id, key) { Some(id) } else { best };
            }
            let branched = node.at + 1;
            node = &self.nodes[child as usize];
            if !node.skip.iter().zip(&self.bytes[branched..]).all(|(skip, at)| *skip == at.of(key))
            {
                return best;
            }
        }
    }

    /// Adds an entry with a new id: words of its key with 0 behind the prefix, and how many bits
    /// the prefix has. No other entry may have the same.
    pub(super) fn insert(&mut self, value: &[u64], length: u32, id: u32) {
        let (bits, free) =
            (8 * self.bytes.len() as u32 - (self.lpm_width - length), self.lpm_width - length);
        if self.prefixes.len() <= id as usize {
            self.prefixes.resize(id as usize + 1, Prefix::default());
            self.values.resize((id as usize + 1) * self.words, 0);
        }
        self.prefixes[id as usize] = Prefix { bits, free };
        self.values[id as usize * self.words..][..self.words].copy_from_slice(value);

        let mut node = 0;
        while !self.add_to(node, id) {
            let at = self.nodes[node as usize].at;
            let byte = self.byte(id, at);
            let child = self.nodes[node as usize].children.get(byte).expect("add_to found it");
            let shared = self.shared(child, at + 1, id);
            if child & ENTRY == 0 && shared == self.nodes[child as usize].at {
                node = child;
                continue;
            }
            // A node where the paths of the two part.
            let skip: Box<[u8]> = (at + 1..shared).map(|at| self.byte(id, at)).collect();
            let between = self.new_node(Node::new(shared, &skip));
            if child & ENTRY == 0 {
                let lower = &mut self.nodes[child as usize];
                let (byte, rest) = (lower.skip[skip.len()], lower.skip[skip.len() + 1..].into());
                lower.skip = rest;
                self.nodes[between as usize].children.set(byte, child);
            } else {
                self.add_to(between, child & !ENTRY);
            }
            self.nodes[node as usize].children.set(byte, between);
            node = between;
        }
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, id: u32) {
        let (mut parent, mut node) = (None, 0);
        loop {
            let at = self.nodes[node as usize].at;
            if let Some(index) = self.end_index(at, id) {
                self.nodes[node as usize].ends.remove(index);
                break;
            }
            let byte = self.byte(id, at);
            match self.nodes[node as usize].children.get(byte) {
                Some(child) if child & ENTRY == 0 => {
                    parent = Some((node, byte));
                    node = child;
                }
                _ => {
                    self.nodes[node as usize].children.remove(byte);
                    break;
                }
            }
        }
        if let Some((parent, byte)) = parent
            && let Some(only) = self.without(node)
        {
            self.nodes[parent as usize].children.set(byte, only);
        }
    }

    /// Puts an entry into a node if its place there is free; its path must lead to the node.
    fn add_to(&mut self, node: u32, id: u32) -> bool {
        let at = self.nodes[node as usize].at;
        if let Some(index) = self.end_index(at, id) {
            self.nodes[node as usize].ends.set(index, id);
            return true;
        }
        let byte = self.byte(id, at);
        let children = &mut self.nodes[node as usize].children;
        let free = children.get(byte).is_none();
        if free {
            children.set(byte, id | ENTRY);
        }
        free
    }

    /// The heap number of an entry among those that end within byte `at`; none if it goes on.
    fn end_index(&self, at: usize, id: u32) -> Option<u8> {
        let within = self.prefixes[id as usize].bits - 8 * at as u32;
        let index = || ((256 | u32::from(self.byte(id, at))) >> (8 - within)) as u8;
        (within < 8).then(index)
    }

    /// The first byte from `from` on that `id` and a child do not share.
    fn shared(&self, child: u32, from: usize, id: u32) -> usize {
        let whole = |id: u32| self.prefixes[id as usize].bits as usize / 8;
        if child & ENTRY != 0 {
            let other = child & !ENTRY;
            let to = whole(id).min(whole(other));
            return (from..to).find(|at| self.byte(id, *at) != self.byte(other, *at)).unwrap_or(to);
        }
        let node = &self.nodes[child as usize];
        let to = whole(id).min(node.at);
        (from..to).find(|at| self.byte(id, *at) != node.skip[at - from]).unwrap_or(to)
    }

    /// What can stand in the place of a node that has one thing left; the node is unused then.
    fn without(&mut self, node: u32) -> Option<u32> {
        let this = &mut self.nodes[node as usize];
        if this.ends.len() + this.children.len() > 1 {
            return None;
        }
        let this = std::mem::replace(this, Node::new(0, &[]));
        self.unused.push(node);
        if let Some(end) = this.ends.first() {
            return Some(end | ENTRY);
        }
        let (child, byte) = this.children.first().zip(this.children.first_index())?;
        if child & ENTRY == 0 {
            let lower = &mut self.nodes[child as usize];
            lower.skip = [&this.skip, &[byte][..], &lower.skip].concat().into();
        }
        Some(child)
    }

    fn new_node(&mut self, node: Node) -> u32 {
        if let Some(unused) = self.unused.pop() {
            self.nodes[unused as usize] = node;
            return unused;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Byte `at` of an entry.
    fn byte(&self, id: u32, at: usize) -> u8 {
        self.bytes[at].of(&self.values[id as usize * self.words..])
    }

    /// Whether an entry matches a key.
    #[inline]
    fn covers(&self, id: u32, key: &[u64]) -> bool {
        let free = self.prefixes[id as usize].free;
        let value = &self.values[id as usize * self.words..];
        key.iter().zip(value).enumerate().all(|(word, (key, value))| {
            let open = match word.checked_sub(self.lpm_word) {
                Some(word) if word < wide::words(self.lpm_width) => {
                    bits::mask(free.saturating_sub(64 * word as u32))
                }
                _ => 0,
            };
            (key ^ value) & !open == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use netkv_ir::MatchKind::{Exact, Lpm as Prefix};

    use super::*;
    use crate::random::Random;
    use crate::tables::model;

    #[test]
    fn the_trie_answers_as_a_scan_of_all_prefixes_does() {
        let mut random = Random::new(11);
        let kinds: [&[_]; 4] =
            [&[Prefix], &[Prefix, Exact], &[Exact, Prefix], &[Exact, Prefix, Exact]];
        for round in 0..80 {
            let keys = model::keys(&mut random, kinds[round % 4]);
            let hits = model::agree(&mut random, &keys, 600, 100);
            assert!(hits > 300, "{hits} of 1200 lookups hit, {keys:?}");
        }
    }

    /// Visits of nodes for a key.
    fn visits(lpm: &Lpm, key: &[u64]) -> usize {
        let mut count = 0;
        lpm.find_counted(key, || count += 1);
        count
    }

    #[test]
    fn a_lookup_visits_a_node_per_byte_at_most() {
        let mut lpm = Lpm::new(&[128], 0);
        let mut random = Random::new(5);
        // All 129 lengths on the path of one key, and 10,000 prefixes beside it.
        let key = [random.next(), random.next()];
        let cut = |key: [u64; 2], length: u32| {
            let mut mask = [0; 2];
            wide::set_bits(&mut mask, 128 - length, 128);
            [key[0] & mask[0], key[1] & mask[1]]
        };
        (0..=128).for_each(|length| lpm.insert(&cut(key, length), length, length));
        for id in 129..10_129 {
            let length = 16 + id % 113;
            lpm.insert(&cut([random.next(), random.next()], length), length, id);
        }
        assert_eq!(lpm.find(&key), Some(128));
        assert_eq!(visits(&lpm, &key), 16);
        for id in (0..=128).rev() {
            lpm.remove(id);
            assert_eq!(lpm.find(&key), id.checked_sub(1).filter(|_| id > 0));
        }
        let other = lpm.values[2 * 9_000..][..2].to_vec();
        assert!(visits(&lpm, &other) <= 4, "paths without a branch take no nodes");
    }

    #[test]
    fn an_emptied_table_keeps_no_nodes() {
        let mut lpm = Lpm::new(&[32], 0);
        for round in 0..3 {
            for id in 0..5_000u32 {
                let value = id.wrapping_mul(0x9e37_79b1) & !0xff;
                lpm.insert(&[u64::from(value)], 24, id);
            }
            (0..5_000).for_each(|id| lpm.remove(id));
            assert_eq!(lpm.nodes.len(), lpm.unused.len() + 1, "round {round}");
            assert_eq!(lpm.find(&[0]), None);
        }
    }
}
