//! An operation under way: its keys, and the requests that ask for them.

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::Key;
use netkv_wire::multiget::{Groups, MAX_SPLIT_KEYS, Op, group, keys_that_fit, owner, rack_of};
use netkv_workload::{OpKind, WireKey, key_of_wire, wire_key};

use super::super::{Architecture, Layout, key_bits};
use crate::Nanos;

/// A key of an operation; no two of one operation are the same.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) key: Key,
    pub(super) name: WireKey,
    /// Whether the key had a value before anybody wrote it.
    pub(super) exists: bool,
    /// The server that has it; not looked for if a coordinator does that.
    pub(super) owner: u16,
    /// Which of the keys it was before they were sorted.
    pub(super) first: usize,
    pub(super) ticket: Option<ReadTicket>,
    /// Where its value is in [`Operation::values`], if that is kept and there is one.
    pub(super) value: Option<(usize, usize)>,
}

/// A request: some of the keys, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) number: u32,
    /// Its first key, and how many there are.
    pub(super) from: usize,
    pub(super) count: usize,
    pub(super) groups: Groups,
    /// Bit i: key i of the request is not answered.
    pub(super) missing: u128,
    /// Keys in all replies, copies included. What is over is not seen by that.
    pub(super) counted: usize,
}

impl Part {
    /// Whether nothing of it is answered.
    pub(super) fn is_untouched(&self) -> bool {
        self.missing.count_ones() as usize == self.count
    }
}

/// An operation from its start to its end. Memory of one that is over is used for others.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) kind: OpKind,
    /// What its requests ask at present: a read-modify-write first reads, then writes.
    pub(super) op: Op,
    /// Id of the key that is written, for keys of the keyspace.
    pub(super) id: u64,
    /// Bytes of the value to write, of the load.
    pub(super) size: usize,
    /// What a user calls it, if it is a user's.
    pub(super) token: Option<u64>,
    /// Whether it is a read of the final verification.
    pub(super) verifies: bool,
    pub(super) intended: Nanos,
    pub(super) deadline: Nanos,
    /// When its timer is due; others in the queue mean nothing.
    pub(super) timer: Nanos,
    pub(super) attempts: u32,
    /// When something was last sent for it.
    pub(super) sent: Nanos,
    pub(super) client: u16,
    pub(super) keys: Vec<Asked>,
    /// For each key as it was asked for, repeated ones each time: which one (`Asked::first`).
    pub(super) places: Vec<usize>,
    pub(super) parts: Vec<Part>,
    /// Requests that are not answered in full.
    pub(super) open: usize,
    /// Values that were read for a user, or the value that a user writes.
    pub(super) values: Vec<u8>,
}

impl Operation {
    pub(super) const fn new() -> Self {
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
            places: Vec::new(),
            parts: Vec::new(),
            open: 0,
            values: Vec::new(),
        }
    }

    /// Makes another operation of it, which has no keys yet.
    pub(super) fn begin(&mut self, kind: OpKind, intended: Nanos, deadline: Nanos) {
        let Self { keys, places, parts, values, .. } = std::mem::replace(self, Self::new());
        (self.keys, self.places, self.parts, self.values) = (keys, places, parts, values);
        self.keys.clear();
        self.places.clear();
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
    pub(super) fn add_id(&mut self, id: u64, keys: u64, layout: &Layout) {
        self.add(wire_key(id, layout.key_size), id < keys, layout);
    }

    /// Adds a key, unless it is there.
    pub(super) fn add(&mut self, name: WireKey, exists: bool, layout: &Layout) {
        let known = self.keys.iter().position(|it| it.name == name);
        self.places.push(known.unwrap_or(self.keys.len()));
        if known.is_none() {
            let key = key_of_wire(name.as_bytes(), layout.key_size);
            let first = self.keys.len();
            let (ticket, value) = (None, None);
            self.keys.push(Asked { key, name, exists, owner: 0, first, ticket, value });
        }
    }

    /// Divides the keys among requests, which have no numbers yet (Algorithm 1 but for line 2).
    pub(super) fn divide(&mut self, architecture: Architecture, layout: &Layout) {
        if architecture != Architecture::CoordiMc {
            for asked in &mut self.keys {
                asked.owner = owner(asked.name.as_bytes(), layout.servers);
            }
            // Servers in ascending order; keys of one server stay as they were.
            self.keys.sort_by_key(|asked| asked.owner);
        }
        // Keys that a request may have in common.
        let place = |asked: &Asked| match architecture {
            Architecture::NetMc => u16::from(rack_of(asked.owner, layout.per_rack)),
            Architecture::CliMc => asked.owner,
            Architecture::CoordiMc => 0,
        };
        self.parts.clear();
        let mut from = 0;
        while from < self.keys.len() {
            let rest = &self.keys[from..];
            let alike = rest.iter().take_while(|asked| place(asked) == place(&rest[0]));
            let lengths = alike.map(|asked| asked.name.as_bytes().len());
            let count = match architecture {
                Architecture::NetMc => lengths.take(MAX_SPLIT_KEYS).count(),
                _ => keys_that_fit(lengths, layout.fields),
            };
            let missing = key_bits(0, count);
            let groups = group(rest[..count].iter().map(|asked| asked.owner as u8));
            self.parts.push(Part { number: 0, from, count, groups, missing, counted: 0 });
            from += count;
        }
        self.open = self.parts.len();
    }

    /// The keys of a request.
    pub(super) fn keys_of(&self, part: &Part) -> &[Asked] {
        &self.keys[part.from..part.from + part.count]
    }

    /// Who writes, or reads: the first request.
    pub(super) fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.parts.first().map_or(0, |it| it.number) }
    }

    /// The servers of the keys that are not answered, in order.
    pub(super) fn missing_servers(&self, servers: u16, into: &mut Vec<u16>) {
        into.clear();
        into.extend(self.missing_keys().map(|asked| owner(asked.name.as_bytes(), servers)));
        into.sort_unstable();
        into.dedup();
    }

    /// The keys without an answer: all, while it has no requests yet.
    pub(super) fn missing_keys(&self) -> impl Iterator<Item = &Asked> {
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
    use super::*;

    fn divided(architecture: Architecture, layout: Layout, ids: &[u64]) -> Operation {
        let mut operation = Operation::new();
        operation.begin(OpKind::Read, 0, 1);
        ids.iter().for_each(|id| operation.add_id(*id, 1000, &layout));
        operation.divide(architecture, &layout);
        operation
    }

    fn sizes(operation: &Operation) -> Vec<usize> {
        operation.parts.iter().map(|part| part.count).collect()
    }

    #[test]
    fn a_switch_gets_one_request_a_server_its_own_and_a_coordinator_what_fits() {
        let layout = Layout::one_rack(5, 4);
        let ids: Vec<u64> = (0..16).collect();
        let netmc = divided(Architecture::NetMc, layout, &ids);
        assert_eq!(sizes(&netmc), [16]);
        assert!(netmc.keys.is_sorted_by_key(|asked| asked.owner));
        assert_eq!(netmc.parts[0].groups.count, 5);
        let climc = divided(Architecture::CliMc, layout, &ids);
        assert_eq!(climc.parts.len(), 5);
        assert!(climc.parts.iter().all(|part| part.groups.count == 1));
        let coordimc = divided(Architecture::CoordiMc, layout, &ids);
        assert_eq!(sizes(&coordimc), [16]);
        assert!(coordimc.keys.is_sorted_by_key(|asked| asked.first), "its order is the user's");
    }

    #[test]
    fn what_exceeds_keyidx_or_a_frame_and_keys_of_several_racks_are_several_requests() {
        let layout = Layout::one_rack(1, 64);
        let ids: Vec<u64> = (0..50).collect();
        let netmc = divided(Architecture::NetMc, layout, &ids);
        assert_eq!(sizes(&netmc), [16, 16, 16, 2]);
        assert_eq!(netmc.parts[3].missing, 0b11);
        for architecture in [Architecture::CliMc, Architecture::CoordiMc] {
            let operation = divided(architecture, layout, &ids);
            assert_eq!(sizes(&operation), [22, 22, 6], "{architecture:?}");
            assert_eq!(operation.parts[2].missing, 0b11_1111);
            let layout = Layout { key_size: 4, ..layout };
            let operation = divided(architecture, layout, &(0..128).collect::<Vec<u64>>());
            assert_eq!(sizes(&operation), [128], "{architecture:?}");
            assert_eq!(operation.parts[0].missing, u128::MAX);
        }
        let racks = Layout { servers: 6, per_rack: 2, fields: 2, key_size: 4 };
        let operation = divided(Architecture::NetMc, racks, &ids[..12]);
        assert_eq!(operation.parts.len(), 3, "one for each rack");
        for part in &operation.parts {
            let racks = operation.keys_of(part).iter().map(|asked| asked.owner / 2);
            assert_eq!(racks.collect::<std::collections::HashSet<u16>>().len(), 1);
        }
    }

    #[test]
    fn a_repeated_key_is_asked_for_once_and_has_all_its_places() {
        let layout = Layout::one_rack(3, 4);
        let operation = divided(Architecture::NetMc, layout, &[7, 9, 7, 7, 1]);
        assert_eq!(operation.keys.len(), 3);
        assert_eq!(operation.places, [0, 1, 0, 0, 2]);
    }
}
