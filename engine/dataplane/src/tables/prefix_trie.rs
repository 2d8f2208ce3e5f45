//! Longest prefix match: a path-compressed trie over the bytes of the key.
//!
//! The key of the trie has the bytes of the exact keys first, and then those of the lpm key. An
//! entry is a prefix of it, so that one trie is enough for tables with additional exact keys. A
//! node represents the bytes that all entries below it share, and branches on the next byte. It has
//!
//! - the entries that end within that byte, after 0 to 7 bits. They are numbered as in a binary
//!   heap: the number of the prefix `b` of `n` bits is `2^n + b`, and half of it is the number of
//!   the next shorter prefix;
//! - a child per value of the byte, which is a node or a single entry.
//!
//! Both are sparse arrays of 256 elements, so that a node takes about 150 bytes. Reasons for this
//! structure:
//!
//! - A lookup visits at most one node per byte of the key, which is 4 for IPv4 and 16 for IPv6. The
//!   number of entries and prefix lengths has no influence. Paths without a branch have no nodes.
//!   In practice, the number of visits is about the logarithm of the entries to the base 256. A
//!   hash map per prefix length needs one probe per length. Binary search over the lengths needs
//!   fewer, but a new short prefix may change a marker of every longer entry below it.
//! - Adding or removing an entry changes at most two nodes. Nothing is rebuilt.
//! - The bytes of the key are read in place, so that a lookup does not allocate.

use super::key_bytes::{self, KeyByte};
use super::sparse_array::SparseArray;
use crate::bits;
use crate::wide;

/// Flag of a child that is an entry, not a node.
const ENTRY: u32 = 1 << 31;

#[derive(Debug)]
struct Node {
    /// Index of the byte that the node branches on.
    at: usize,
    /// The bytes between the one that the parent branches on, and `at`.
    skip: Box<[u8]>,
    /// Entries that end within the byte, by their heap number.
    short_prefixes: SparseArray,
    /// By value of the byte: a node, or an entry with the flag [`ENTRY`].
    children: SparseArray,
}

impl Node {
    fn new(at: usize, skip: &[u8]) -> Self {
        Self {
            at,
            skip: skip.into(),
            short_prefixes: SparseArray::default(),
            children: SparseArray::default(),
        }
    }
}

/// Length of the prefix of an entry.
#[derive(Debug, Clone, Default)]
struct Prefix {
    /// Number of bits from the first byte of the key.
    bits: u32,
    /// Number of bits of the lpm key after the prefix.
    free: u32,
}

/// Lookup of entries with one lpm key, and any number of exact keys.
#[derive(Debug)]
pub(super) struct PrefixTrie {
    /// Positions of the bytes of the key, with those of the lpm key last.
    bytes: Box<[KeyByte]>,
    words: usize,
    /// First word and width of the lpm key.
    lpm_word: usize,
    lpm_width: u32,
    /// The root is node 0.
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    /// Prefix lengths by id of the entry.
    prefixes: Vec<Prefix>,
    /// Key words of the entries, `words` of them for each id.
    values: Vec<u64>,
}

impl PrefixTrie {
    /// An empty trie. `widths` are those of all keys, `lpm` is the index of the lpm key.
    pub(super) fn new(widths: &[u32], lpm: usize) -> Self {
        let fields: Vec<(usize, u32)> =
            key_bytes::first_words(widths).zip(widths.iter().copied()).collect();
        let exact = fields.iter().enumerate().filter(|(key, _)| *key != lpm);
        let in_order = exact.map(|(_, field)| field).chain([&fields[lpm]]);
        Self {
            bytes: in_order.flat_map(|(from, width)| key_bytes::field(*from, *width)).collect(),
            words: widths.iter().map(|width| wide::words(*width)).sum(),
            lpm_word: fields[lpm].0,
            lpm_width: widths[lpm],
            nodes: vec![Node::new(0, &[])],
            free_nodes: Vec::new(),
            prefixes: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Id of the entry with the longest matching prefix.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        self.find_counted(key, || ())
    }

    /// Same as `find`, and calls `visit` for each visited node.
    #[inline]
    fn find_counted(&self, key: &[u64], mut visit: impl FnMut()) -> Option<u32> {
        let mut best = None;
        let mut node = &self.nodes[0];
        loop {
            visit();
            let byte = self.bytes[node.at].of(key);
            best = node.short_prefixes.nearest_ancestor(128 | (byte >> 1)).or(best);
            let Some(child) = node.children.get(byte) else { return best };
            if child & ENTRY != 0 {
                let id = child & !ENTRY;
                return if self.matches(id, key) { Some(id) } else { best };
            }
            let branched = node.at + 1;
            node = &self.nodes[child as usize];
            if !node.skip.iter().zip(&self.bytes[branched..]).all(|(skip, at)| *skip == at.of(key))
            {
                return best;
            }
        }
    }

    /// Adds an entry with a new id. `value` has the words of its key, with 0 after the prefix, and
    /// `length` is that of the prefix in bits. No other entry may have the same prefix.
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
        while !self.try_add(node, id) {
            let at = self.nodes[node as usize].at;
            let byte = self.byte(id, at);
            let child = self.nodes[node as usize].children.get(byte).expect("try_add found it");
            let shared = self.first_difference(child, at + 1, id);
            if child & ENTRY == 0 && shared == self.nodes[child as usize].at {
                node = child;
                continue;
            }
            // A new node where the paths of the entry and the child diverge.
            let skip: Box<[u8]> = (at + 1..shared).map(|at| self.byte(id, at)).collect();
            let between = self.new_node(Node::new(shared, &skip));
            if child & ENTRY == 0 {
                let lower = &mut self.nodes[child as usize];
                let (byte, rest) = (lower.skip[skip.len()], lower.skip[skip.len() + 1..].into());
                lower.skip = rest;
                self.nodes[between as usize].children.set(byte, child);
            } else {
                self.try_add(between, child & !ENTRY);
            }
            self.nodes[node as usize].children.set(byte, between);
            node = between;
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, id: u32) {
        let (mut parent, mut node) = (None, 0);
        loop {
            let at = self.nodes[node as usize].at;
            if let Some(index) = self.end_index(at, id) {
                self.nodes[node as usize].short_prefixes.remove(index);
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
            && let Some(only) = self.collapse(node)
        {
            self.nodes[parent as usize].children.set(byte, only);
        }
    }

    /// Adds an entry to a node on its path. Returns false if the node already has a child for the
    /// next byte of the entry.
    fn try_add(&mut self, node: u32, id: u32) -> bool {
        let at = self.nodes[node as usize].at;
        if let Some(index) = self.end_index(at, id) {
            self.nodes[node as usize].short_prefixes.set(index, id);
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

    /// Heap number of an entry that ends within byte `at`. `None`: the entry is longer.
    fn end_index(&self, at: usize, id: u32) -> Option<u8> {
        let within = self.prefixes[id as usize].bits - 8 * at as u32;
        let index = || ((256 | u32::from(self.byte(id, at))) >> (8 - within)) as u8;
        (within < 8).then(index)
    }

    /// Index of the first byte, from `from` on, in which an entry and a child differ.
    fn first_difference(&self, child: u32, from: usize, id: u32) -> usize {
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

    /// Removes a node with a single entry or child, and returns its replacement. `None`: the node
    /// has more.
    fn collapse(&mut self, node: u32) -> Option<u32> {
        let this = &mut self.nodes[node as usize];
        if this.short_prefixes.len() + this.children.len() > 1 {
            return None;
        }
        let this = std::mem::replace(this, Node::new(0, &[]));
        self.free_nodes.push(node);
        if let Some(end) = this.short_prefixes.first() {
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
        if let Some(unused) = self.free_nodes.pop() {
            self.nodes[unused as usize] = node;
            return unused;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Byte `at` of the key of an entry.
    fn byte(&self, id: u32, at: usize) -> u8 {
        self.bytes[at].of(&self.values[id as usize * self.words..])
    }

    /// True if an entry matches a key.
    #[inline]
    fn matches(&self, id: u32, key: &[u64]) -> bool {
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
    use crate::tables::reference_model;

    #[test]
    fn the_trie_equals_a_linear_search() {
        let mut random = Random::new(11);
        let kinds: [&[_]; 4] =
            [&[Prefix], &[Prefix, Exact], &[Exact, Prefix], &[Exact, Prefix, Exact]];
        for round in 0..80 {
            let keys = reference_model::keys(&mut random, kinds[round % 4]);
            let hits = reference_model::compare_with_index(&mut random, &keys, 600, 100);
            assert!(hits > 300, "{hits} of 1200 lookups hit, {keys:?}");
        }
    }

    /// Number of nodes that a lookup visits.
    fn visits(lpm: &PrefixTrie, key: &[u64]) -> usize {
        let mut count = 0;
        lpm.find_counted(key, || count += 1);
        count
    }

    #[test]
    fn a_lookup_visits_a_node_per_byte_at_most() {
        let mut lpm = PrefixTrie::new(&[128], 0);
        let mut random = Random::new(5);
        // All 129 prefix lengths on the path of one key, and 10,000 other prefixes.
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
    fn an_emptied_table_has_no_nodes() {
        let mut lpm = PrefixTrie::new(&[32], 0);
        for round in 0..3 {
            for id in 0..5_000u32 {
                let value = id.wrapping_mul(0x9e37_79b1) & !0xff;
                lpm.insert(&[u64::from(value)], 24, id);
            }
            (0..5_000).for_each(|id| lpm.remove(id));
            assert_eq!(lpm.nodes.len(), lpm.free_nodes.len() + 1, "round {round}");
            assert_eq!(lpm.find(&[0]), None);
        }
    }
}
