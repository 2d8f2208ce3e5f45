//! A request of a client, and what is known of its keys.

use netkv_wire::multiget::{Header, MAX_KEYS, Op, View, group, owner};
use netkv_workload::WireKey;

use super::super::results::Results;
use crate::Nanos;

/// What one server is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) server: u16,
    /// Which of the task's keys, in the order of the request to the server.
    places: [u8; MAX_KEYS],
    count: usize,
    /// Bit i: key i of the request to the server is not there.
    pub(super) missing: u16,
    /// Keys in all replies, copies included. What is there is not seen by that.
    counted: usize,
}

/// A request of a client under way.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) client: u16,
    /// As the client sent it.
    pub(super) header: Header,
    pub(super) results: Results,
    pub(super) parts: Vec<Part>,
    /// Parts of which something is missing.
    pub(super) open: usize,
    /// What a PUT writes.
    pub(super) value: Vec<u8>,
    pub(super) deadline: Nanos,
    /// When its timer is due; others in the queue mean nothing.
    pub(super) timer: Nanos,
    pub(super) attempts: u32,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            client: 0,
            header: Header::request(Op::Get, 0, 0, &group([])),
            results: Results::default(),
            parts: Vec::new(),
            open: 0,
            value: Vec::new(),
            deadline: 0,
            timer: 0,
            attempts: 0,
        }
    }
}

impl Task {
    /// Makes the task of another request of it, with no numbers yet.
    pub(super) fn begin(&mut self, client: u16, view: &View<'_>, servers: u16) {
        (self.client, self.header) = (client, *view.header());
        self.results.clear();
        self.parts.clear();
        self.value.clear();
        self.value.extend_from_slice(view.value());
        self.attempts = 0;
        for (place, name) in view.asked().filter_map(WireKey::new).enumerate() {
            self.results.push(name);
            let server = owner(name.as_bytes(), servers);
            let at = self.parts.iter().position(|part| part.server == server);
            let at = at.unwrap_or_else(|| {
                let (number, places) = (0, [0; MAX_KEYS]);
                self.parts.push(Part { number, server, places, count: 0, missing: 0, counted: 0 });
                self.parts.len() - 1
            });
            let part = &mut self.parts[at];
            part.places[part.count] = place as u8;
            part.missing |= 1 << part.count;
            part.count += 1;
        }
        self.open = self.parts.len();
    }

    /// The keys of the request to a server.
    pub(super) fn names<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = &'a [u8]> + Clone {
        let places = &part.places[..part.count];
        places.iter().map(|place| self.results.name(usize::from(*place)).as_bytes())
    }

    /// The header of the request to a server, for the keys from the first to the last one that is
    /// missing.
    pub(super) fn request_for(&self, part: &Part) -> Header {
        let first = part.missing.trailing_zeros() as u8;
        let last = 15 - part.missing.leading_zeros() as u8;
        let groups = group((0..part.count).map(|_| part.server as u8));
        let header = Header::request(self.header.op, part.number, last + 1 - first, &groups);
        Header { startidx: first, ..header }
    }

    /// Takes what a reply says about the keys of a part. None if it names other keys, otherwise
    /// whether there is anything new in it. `counts` is what it must not do: count keys.
    pub(super) fn take(&mut self, at: usize, view: &View<'_>, counts: bool) -> Option<bool> {
        let part = self.parts[at];
        let first = usize::from(view.header().startidx);
        let places = part.places[..part.count].get(first..)?;
        let mut entries = view.entries();
        for place in places.iter().take(view.header().numkey.into()) {
            let name = self.results.name(usize::from(*place)).as_bytes();
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
        for ((at, place), entry) in places.iter().enumerate().zip(view.entries()) {
            let bit = 1 << (first + at);
            if part.missing & bit != 0 {
                part.missing &= !bit;
                // No reply carries a value that is too long.
                self.results.set(usize::from(*place), entry.found.then_some(entry.value));
                new = true;
            }
            part.counted += 1;
        }
        if counts && part.counted >= part.count {
            part.missing = 0;
        }
        if was_open && part.missing == 0 {
            self.open -= 1;
        }
        Some(new)
    }
}
