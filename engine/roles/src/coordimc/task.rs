//! A request of a client that is under way, and the state of its keys.

use netkv_wire::client_ip;
use netkv_wire::multiget::{Addresses, COORDINATOR_IP, Fields, Header, Op, View, group, owner};
use netkv_workload::WireKey;

use crate::kits::multiget::results::Results;
use crate::kits::multiget::{key_bits, key_span};
use crate::{Actions, Nanos};

/// The part of a request for one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) server: u16,
    /// The index of its first key in [`Task::key_indexes`], and the number of its keys.
    from: usize,
    count: usize,
    /// Bit i: key i of the request to the server is missing.
    pub(super) missing: u128,
}

/// A request of a client under way.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) client: u16,
    /// As the client sent it.
    pub(super) header: Header,
    pub(super) results: Results,
    pub(super) parts: Vec<Part>,
    /// Indexes in `results` of the keys of the parts, one part after the other.
    key_indexes: Vec<u8>,
    /// The part of each key.
    part_of: Vec<u8>,
    /// Number of parts with missing keys.
    pub(super) open: usize,
    /// The value of a PUT.
    pub(super) value: Vec<u8>,
    pub(super) deadline: Nanos,
    /// When its timer is due; its other timers in the queue are ignored.
    pub(super) timer: Nanos,
    pub(super) attempts: u32,
    /// When requests to servers were last sent.
    pub(super) sent: Nanos,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            client: 0,
            header: Header::request(Op::Get, 0, 0, &group([])),
            results: Results::default(),
            parts: Vec::new(),
            key_indexes: Vec::new(),
            part_of: Vec::new(),
            open: 0,
            value: Vec::new(),
            deadline: 0,
            timer: 0,
            attempts: 0,
            sent: 0,
        }
    }
}

impl Task {
    /// Reuses the memory for the task of another request, with no numbers yet.
    pub(super) fn begin(&mut self, client: u16, view: &View<'_>, servers: u16) {
        (self.client, self.header) = (client, *view.header());
        self.results.clear();
        self.parts.clear();
        self.value.clear();
        self.value.extend_from_slice(view.value());
        self.attempts = 0;
        self.part_of.clear();
        for name in view.asked().filter_map(WireKey::new) {
            self.results.push(name);
            let server = owner(name.as_bytes(), servers);
            let at = self.parts.iter().position(|part| part.server == server);
            let at = at.unwrap_or_else(|| {
                let (number, from, count) = (0, 0, 0);
                self.parts.push(Part { number, server, from, count, missing: 0 });
                self.parts.len() - 1
            });
            self.parts[at].count += 1;
            self.part_of.push(at as u8);
        }
        self.order_keys();
        self.open = self.parts.len();
    }

    /// Lays out the keys of the parts one part after the other. Keys that fit into the client's
    /// frame fit into those to servers.
    fn order_keys(&mut self) {
        let mut from = 0;
        for part in &mut self.parts {
            part.from = from;
            from += part.count;
            part.missing = key_bits(0, part.count);
            part.count = 0;
        }
        self.key_indexes.clear();
        self.key_indexes.resize(from, 0);
        for (index, at) in self.part_of.iter().enumerate() {
            let part = &mut self.parts[usize::from(*at)];
            self.key_indexes[part.from + part.count] = index as u8;
            part.count += 1;
        }
    }

    /// Answers `request`, which is the client's or a copy of it, with the known ones of its keys.
    /// Returns the number of replies; none if it is a write.
    pub(super) fn answer(&self, request: &Header, fields: Fields, out: &mut Actions) -> u64 {
        if !self.header.op.reads() {
            return 0;
        }
        let (source, destination) = (COORDINATOR_IP, client_ip(self.client));
        let addresses = Addresses { source, destination, fields };
        // Index 0 is the first key of the client's request.
        let own = usize::from(self.header.startidx);
        let start = usize::from(request.startidx);
        let end = start + usize::from(request.numkey);
        let keys = start.saturating_sub(own)..end.saturating_sub(own);
        self.results.send(&addresses, &self.header, self.header.startidx, keys, out)
    }

    fn key_indexes_of(&self, part: &Part) -> &[u8] {
        &self.key_indexes[part.from..part.from + part.count]
    }

    /// The keys of the request to a server.
    pub(super) fn names<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.key_indexes_of(part)
            .iter()
            .map(|index| self.results.name(usize::from(*index)).as_bytes())
    }

    /// The header of the request to a server, for the keys from the first to the last missing one.
    pub(super) fn request_for(&self, part: &Part) -> Header {
        let (startidx, numkey) = key_span(part.missing);
        let groups = group((0..part.count).map(|_| part.server as u8));
        let header = Header::request(self.header.op, part.number, numkey, &groups);
        Header { startidx, ..header }
    }

    /// Takes the entries of a reply for a part. None if it names other keys, otherwise whether any
    /// entry is new.
    pub(super) fn take(&mut self, at: usize, view: &View<'_>) -> Option<bool> {
        let part = self.parts[at];
        let first = usize::from(view.header().startidx);
        let indexes = self.key_indexes[part.from..part.from + part.count].get(first..)?;
        let mut entries = view.entries();
        for index in indexes.iter().take(view.header().numkey.into()) {
            let name = self.results.name(usize::from(*index)).as_bytes();
            if entries.next()?.key != name {
                return None;
            }
        }
        if entries.next().is_some() {
            return None;
        }
        let mut new = false;
        let part = &mut self.parts[at];
        let was_open = part.missing != 0;
        for ((at, index), entry) in indexes.iter().enumerate().zip(view.entries()) {
            let bit = 1 << (first + at);
            if part.missing & bit != 0 {
                part.missing &= !bit;
                // No reply carries a value that is too long.
                self.results.set(usize::from(*index), entry.found.then_some(entry.value));
                new = true;
            }
        }
        if was_open && part.missing == 0 {
            self.open -= 1;
        }
        Some(new)
    }
}
