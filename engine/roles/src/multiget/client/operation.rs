//! An operation under way: its keys and its requests.

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::Key;
use netkv_wire::multiget::{Groups, Op, group, owner};
use netkv_workload::{OpKind, WireKey, key_of_wire, wire_key};

use super::super::{Layout, key_bits};
use crate::Nanos;

/// A key of an operation; the keys of an operation are distinct.
#[derive(Debug, Clone)]
pub struct RequestedKey {
    pub(in super::super) key: Key,
    pub(in super::super) name: WireKey,
    /// Whether the key has an initial value.
    pub(in super::super) exists: bool,
    /// The server that has it; 0 if a coordinator looks it up.
    pub(in super::super) owner: u16,
    /// The index of the key before keys were sorted.
    pub(in super::super) first: usize,
    pub(in super::super) ticket: Option<ReadTicket>,
    /// The range of its value in [`Operation::values`], if there is one and it is kept.
    pub(in super::super) value: Option<(usize, usize)>,
}

/// A request: a range of the keys.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub(in super::super) number: u32,
    /// The index of its first key, and the number of its keys.
    pub(in super::super) from: usize,
    pub(in super::super) count: usize,
    pub(in super::super) groups: Groups,
    /// Bit i: key i of the request is not answered.
    pub(in super::super) missing: u128,
}

impl Part {
    /// Whether none of its keys is answered.
    pub(in super::super) fn is_untouched(&self) -> bool {
        self.missing.count_ones() as usize == self.count
    }
}

/// An operation from its start to its end. The memory of an ended one is reused.
#[derive(Debug)]
pub struct Operation {
    pub(in super::super) kind: OpKind,
    /// The operation code of its current requests: a read-modify-write first reads, then writes.
    pub(in super::super) op: Op,
    /// Id of the key that is written, for keys of the keyspace.
    pub(in super::super) id: u64,
    /// Bytes of the value to write, for operations of the load.
    pub(in super::super) size: usize,
    /// The user's token, if it is an operation of a user.
    pub(in super::super) token: Option<u64>,
    /// Whether it is a read of the final verification.
    pub(in super::super) verifies: bool,
    pub(in super::super) intended: Nanos,
    pub(in super::super) deadline: Nanos,
    /// When its timer is due; its other timers in the queue are ignored.
    pub(in super::super) timer: Nanos,
    pub(in super::super) attempts: u32,
    /// When its requests were last sent.
    pub(in super::super) sent: Nanos,
    pub(in super::super) client: u16,
    pub(in super::super) keys: Vec<RequestedKey>,
    /// For each key that the caller named, repeated ones included: its [`RequestedKey::first`].
    pub(in super::super) firsts: Vec<usize>,
    pub(in super::super) parts: Vec<Part>,
    /// Requests that are not answered in full.
    pub(in super::super) open: usize,
    /// Values that were read for a user, or the value that a user writes.
    pub(in super::super) values: Vec<u8>,
}

impl Operation {
    pub(in super::super) const fn new() -> Self {
        Self {
            kind: OpKind::Read,
            op: Op::Get,
            id: 0,
            size: 0,
            token: None,
            verifies: false,
            intended: 0,
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

    /// Reuses the memory for another operation, which has no keys yet.
    pub(in super::super) fn begin(&mut self, kind: OpKind, intended: Nanos, deadline: Nanos) {
        let Self { keys, firsts, parts, values, .. } = std::mem::replace(self, Self::new());
        (self.keys, self.firsts, self.parts, self.values) = (keys, firsts, parts, values);
        self.keys.clear();
        self.firsts.clear();
        self.parts.clear();
        self.values.clear();
        (self.kind, self.intended, self.deadline) = (kind, intended, deadline);
        self.op = match kind {
            OpKind::Read | OpKind::ReadModifyWrite => Op::Get,
            OpKind::Update | OpKind::Insert => Op::Put,
            OpKind::Delete => Op::Delete,
        };
    }

    /// Adds a key of the keyspace, which has `keys` ids.
    pub(in super::super) fn add_id(&mut self, id: u64, keys: u64, layout: &Layout) {
        self.add(wire_key(id, layout.key_size), id < keys, layout);
    }

    /// Adds a key, unless the operation has it already.
    pub(in super::super) fn add(&mut self, name: WireKey, exists: bool, layout: &Layout) {
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
    pub(in super::super) fn sort_by_owner(&mut self, layout: &Layout) {
        for asked in &mut self.keys {
            asked.owner = owner(asked.name.as_bytes(), layout.servers);
        }
        self.keys.sort_by_key(|asked| asked.owner);
    }

    /// Divides the keys among requests, which have no numbers yet. Adjacent keys with the same
    /// value of `together` share a request; `fit` returns how many keys of these lengths a request
    /// can have.
    pub(in super::super) fn divide_by(
        &mut self,
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
            let groups = group(rest[..count].iter().map(|asked| asked.owner as u8));
            self.parts.push(Part { number: 0, from, count, groups, missing });
            from += count;
        }
        self.open = self.parts.len();
    }

    /// The keys of a request.
    pub(in super::super) fn keys_of(&self, part: &Part) -> &[RequestedKey] {
        &self.keys[part.from..part.from + part.count]
    }

    /// Identifies the operation for the checker: its first request.
    pub(in super::super) fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.parts.first().map_or(0, |it| it.number) }
    }

    /// The servers of the keys that are not answered, in order.
    pub(in super::super) fn missing_servers(&self, servers: u16, into: &mut Vec<u16>) {
        into.clear();
        into.extend(self.missing_keys().map(|asked| owner(asked.name.as_bytes(), servers)));
        into.sort_unstable();
        into.dedup();
    }

    /// The keys without an answer: all keys, if there are no requests yet.
    pub(in super::super) fn missing_keys(&self) -> impl Iterator<Item = &RequestedKey> {
        let unasked = if self.parts.is_empty() { &self.keys[..] } else { &[] };
        let asked = self.parts.iter().flat_map(|part| {
            let keys = self.keys_of(part).iter().enumerate();
            keys.filter(|(at, _)| part.missing >> at & 1 == 1).map(|(_, asked)| asked)
        });
        unasked.iter().chain(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::climc::CliMc;
    use super::super::super::coordimc::CoordiMc;
    use super::super::super::netmc::NetMc;
    use super::super::Architecture;
    use super::*;

    fn divided(architecture: &dyn Architecture, layout: Layout, ids: &[u64]) -> Operation {
        let mut operation = Operation::new();
        operation.begin(OpKind::Read, 0, 1);
        ids.iter().for_each(|id| operation.add_id(*id, 1000, &layout));
        architecture.divide(&mut operation, &layout);
        operation
    }

    fn sizes(operation: &Operation) -> Vec<usize> {
        operation.parts.iter().map(|part| part.count).collect()
    }

    #[test]
    fn each_architecture_divides_keys_in_its_way() {
        let layout = Layout::one_rack(5, 4);
        let ids: Vec<u64> = (0..16).collect();
        let netmc = divided(&NetMc, layout, &ids);
        assert_eq!(sizes(&netmc), [16]);
        assert!(netmc.keys.is_sorted_by_key(|asked| asked.owner));
        assert_eq!(netmc.parts[0].groups.count, 5);
        let climc = divided(&CliMc, layout, &ids);
        assert_eq!(climc.parts.len(), 5);
        assert!(climc.parts.iter().all(|part| part.groups.count == 1));
        let coordimc = divided(&CoordiMc, layout, &ids);
        assert_eq!(sizes(&coordimc), [16]);
        assert!(coordimc.keys.is_sorted_by_key(|asked| asked.first), "its order is the user's");
    }

    #[test]
    fn keys_beyond_a_frame_or_a_rack_take_several_requests() {
        let layout = Layout::one_rack(1, 64);
        let ids: Vec<u64> = (0..50).collect();
        let netmc = divided(&NetMc, layout, &ids);
        assert_eq!(sizes(&netmc), [16, 16, 16, 2]);
        assert_eq!(netmc.parts[3].missing, 0b11);
        for architecture in [&CliMc as &dyn Architecture, &CoordiMc] {
            let operation = divided(architecture, layout, &ids);
            assert_eq!(sizes(&operation), [22, 22, 6], "{architecture:?}");
            assert_eq!(operation.parts[2].missing, 0b11_1111);
            let layout = Layout { key_size: 4, ..layout };
            let operation = divided(architecture, layout, &(0..128).collect::<Vec<u64>>());
            assert_eq!(sizes(&operation), [128], "{architecture:?}");
            assert_eq!(operation.parts[0].missing, u128::MAX);
        }
        let racks = Layout { servers: 6, per_rack: 2, fields: 2, key_size: 4 };
        let operation = divided(&NetMc, racks, &ids[..12]);
        assert_eq!(operation.parts.len(), 3, "one for each rack");
        for part in &operation.parts {
            let racks = operation.keys_of(part).iter().map(|asked| asked.owner / 2);
            assert_eq!(racks.collect::<std::collections::HashSet<u16>>().len(), 1);
        }
    }

    #[test]
    fn a_repeated_key_is_requested_once_and_has_all_positions() {
        let layout = Layout::one_rack(3, 4);
        let operation = divided(&NetMc, layout, &[7, 9, 7, 7, 1]);
        assert_eq!(operation.keys.len(), 3);
        assert_eq!(operation.firsts, [0, 1, 0, 0, 2]);
    }
}
