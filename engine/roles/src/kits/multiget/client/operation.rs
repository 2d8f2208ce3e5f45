//! An operation under way: its keys and its requests.

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::Key;
use netkv_wire::multiget::{Groups, Op, group_first, owner};
use netkv_workload::{OpKind, WireKey, Workload, key_of_wire, wire_key};

use crate::Nanos;
use crate::common::source::{Asked, Tag, UnderWay};
use crate::kits::multiget::key_bits::key_bits;
use crate::kits::multiget::layout::Layout;

/// A key of an operation; the keys of an operation are distinct.
#[derive(Debug, Clone)]
pub struct RequestedKey {
    pub(crate) key: Key,
    pub(crate) name: WireKey,
    /// Whether the key has an initial value.
    pub(crate) exists: bool,
    /// The server that has it; 0 if a coordinator looks it up.
    pub(crate) owner: u16,
    /// The index of the key before keys were sorted.
    pub(crate) first: usize,
    pub(crate) ticket: Option<ReadTicket>,
    /// The range of its value in [`Operation::values`], if there is one and it is kept.
    pub(crate) value: Option<(usize, usize)>,
}

/// A request: a range of the keys.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub(crate) number: u32,
    /// The index of its first key, and the number of its keys.
    pub(crate) from: usize,
    pub(crate) count: usize,
    pub(crate) groups: Groups,
    /// Bit i: key i of the request is not answered.
    pub(crate) missing: u128,
}

impl Part {
    /// Whether none of its keys is answered.
    pub(crate) fn is_untouched(&self) -> bool {
        self.missing.count_ones() as usize == self.count
    }
}

/// An operation from its start to its end. The memory of an ended one is reused.
#[derive(Debug)]
pub struct Operation {
    pub(crate) tag: Tag,
    /// The operation code of its current requests: a read-modify-write first reads, then writes.
    pub(crate) op: Op,
    /// Bytes of the value to write.
    pub(crate) size: usize,
    pub(crate) deadline: Nanos,
    /// When its timer is due; its other timers in the queue are ignored.
    pub(crate) timer: Nanos,
    pub(crate) attempts: u32,
    /// When its requests were last sent.
    pub(crate) sent: Nanos,
    pub(crate) client: u16,
    pub(crate) keys: Vec<RequestedKey>,
    /// For each key that the caller named, repeated ones included: its [`RequestedKey::first`].
    pub(crate) firsts: Vec<usize>,
    pub(crate) parts: Vec<Part>,
    /// Requests that are not answered in full.
    pub(crate) open: usize,
    /// Values that were read for a user, or the value that a user writes.
    pub(crate) values: Vec<u8>,
}

impl Operation {
    pub(crate) const fn new() -> Self {
        Self {
            tag: Tag { kind: OpKind::Read, number: 0, verifies: false, intended: 0 },
            op: Op::Get,
            size: 0,
            deadline: 0,
            timer: 0,
            attempts: 0,
            sent: 0,
            client: 0,
            keys: Vec::new(),
            firsts: Vec::new(),
            parts: Vec::new(),
            open: 0,
            values: Vec::new(),
        }
    }

    /// One with the memory of an earlier one, if there is any; [`Self::begin`] clears it.
    pub(super) fn reused(spare: &mut Vec<Self>) -> Self {
        spare.pop().unwrap_or_else(Self::new)
    }

    /// Reuses the memory for another operation, which has no keys yet.
    pub(crate) fn begin(&mut self, tag: Tag, deadline: Nanos) {
        let Self { keys, firsts, parts, values, .. } = std::mem::replace(self, Self::new());
        (self.keys, self.firsts, self.parts, self.values) = (keys, firsts, parts, values);
        self.keys.clear();
        self.firsts.clear();
        self.parts.clear();
        self.values.clear();
        (self.tag, self.deadline) = (tag, deadline);
        self.op = match tag.kind {
            OpKind::Read | OpKind::ReadModifyWrite => Op::Get,
            OpKind::Update | OpKind::Insert => Op::Put,
            OpKind::Delete => Op::Delete,
        };
    }

    /// Whether a read is a multiget: if it has several keys, or in a load of `multigets`.
    pub(crate) fn choose_read(&mut self, multigets: bool) {
        self.op = if multigets || self.keys.len() > 1 { Op::Mget } else { Op::Get };
    }

    /// Adds a key of the keyspace.
    pub(crate) fn add_id(&mut self, id: u64, exists: bool, layout: &Layout) {
        self.add(wire_key(id, layout.key_size), exists, layout);
    }

    /// Adds a key, unless the operation has it already.
    pub(crate) fn add(&mut self, name: WireKey, exists: bool, layout: &Layout) {
        let known = self.keys.iter().position(|it| it.name == name);
        self.firsts.push(known.unwrap_or(self.keys.len()));
        if known.is_none() {
            let key = key_of_wire(name.as_bytes(), layout.key_size);
            let first = self.keys.len();
            let (ticket, value) = (None, None);
            self.keys.push(RequestedKey { key, name, exists, owner: 0, first, ticket, value });
        }
    }

    /// Sorts the keys by their servers, in ascending order; keys of one server stay as they were.
    pub(crate) fn sort_by_owner(&mut self, layout: &Layout) {
        for asked in &mut self.keys {
            asked.owner = owner(asked.name.as_bytes(), layout.servers);
        }
        self.keys.sort_by_key(|asked| asked.owner);
    }

    /// Divides the keys among requests, which have no numbers yet. Adjacent keys with the same
    /// value of `together` share a request; `fit` returns how many keys of these lengths a request
    /// can have.
    pub(crate) fn divide_by(
        &mut self,
        layout: &Layout,
        together: impl Fn(&RequestedKey) -> u16,
        fit: impl Fn(&mut dyn Iterator<Item = usize>) -> usize,
    ) {
        self.parts.clear();
        let mut from = 0;
        while from < self.keys.len() {
            let rest = &self.keys[from..];
            let destination = together(&rest[0]);
            let alike = rest.iter().take_while(|asked| together(asked) == destination);
            let count = fit(&mut alike.map(|asked| asked.name.as_bytes().len()));
            let missing = key_bits(0, count);
            let owners = rest[..count].iter().map(|asked| asked.owner as u8);
            let groups = group_first(layout.fields.split_keys, owners);
            self.parts.push(Part { number: 0, from, count, groups, missing });
            from += count;
        }
        self.open = self.parts.len();
    }

    /// The keys of a request.
    pub(crate) fn keys_of(&self, part: &Part) -> &[RequestedKey] {
        &self.keys[part.from..part.from + part.count]
    }

    /// The servers of the keys that are not answered, in order.
    pub(crate) fn missing_servers(&self, servers: u16, into: &mut Vec<u16>) {
        into.clear();
        into.extend(self.missing_keys().map(|asked| owner(asked.name.as_bytes(), servers)));
        into.sort_unstable();
        into.dedup();
    }

    /// The keys without an answer: all keys, if there are no requests yet.
    pub(crate) fn missing_keys(&self) -> impl Iterator<Item = &RequestedKey> {
        let unasked = if self.parts.is_empty() { &self.keys[..] } else { &[] };
        let asked = self.parts.iter().flat_map(|part| {
            let keys = self.keys_of(part).iter().enumerate();
            keys.filter(|(at, _)| part.missing >> at & 1 == 1).map(|(_, asked)| asked)
        });
        unasked.iter().chain(asked)
    }
}

impl UnderWay for Operation {
    fn draw(workload: &mut Workload, _: bool, ids: &mut Vec<u64>) -> netkv_workload::Operation {
        workload.draw_keys(ids)
    }

    fn tag(&self) -> Tag {
        self.tag
    }

    /// That of its first request.
    fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.parts.first().map_or(0, |it| it.number) }
    }

    fn reads(&self) -> bool {
        self.op.reads()
    }

    fn key(&self) -> &Key {
        &self.keys[0].key
    }

    fn keys(&mut self) -> impl Iterator<Item = Asked<'_>> {
        self.keys.iter_mut().map(|RequestedKey { key, exists, ticket, .. }| Asked {
            key,
            exists: *exists,
            ticket,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::Architecture;
    use super::*;

    /// A read of these keys, and the number of keys of each of its requests.
    pub(crate) fn divided(
        architecture: &dyn Architecture,
        layout: Layout,
        ids: &[u64],
    ) -> (Operation, Vec<usize>) {
        let mut operation = read_of(layout, ids);
        architecture.divide(&mut operation, &layout);
        let sizes = operation.parts.iter().map(|part| part.count).collect();
        (operation, sizes)
    }

    fn read_of(layout: Layout, ids: &[u64]) -> Operation {
        let mut operation = Operation::new();
        operation.begin(Operation::new().tag, 1);
        ids.iter().for_each(|id| operation.add_id(*id, true, &layout));
        operation
    }

    /// Asserts that requests of an architecture have as many keys as fit into a frame.
    pub(crate) fn assert_fills_frames(architecture: &dyn Architecture) {
        let layout = Layout::one_rack(1, 64);
        let (operation, sizes) = divided(architecture, layout, &(0..50).collect::<Vec<u64>>());
        assert_eq!(sizes, [22, 22, 6]);
        assert_eq!(operation.parts[2].missing, 0b11_1111);
        let layout = Layout { key_size: 4, ..layout };
        let (operation, sizes) = divided(architecture, layout, &(0..128).collect::<Vec<u64>>());
        assert_eq!(sizes, [128]);
        assert_eq!(operation.parts[0].missing, u128::MAX);
    }

    #[test]
    fn a_repeated_key_is_requested_once_and_has_all_positions() {
        let operation = read_of(Layout::one_rack(3, 4), &[7, 9, 7, 7, 1]);
        assert_eq!(operation.keys.len(), 3);
        assert_eq!(operation.firsts, [0, 1, 0, 0, 2]);
    }
}
