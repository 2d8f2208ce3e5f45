//! Test double of the NetCache switch: the rules of the protocol description, nothing clever.
//! The real P4 program is tested elsewhere; both must follow the same page.

use std::collections::HashMap;

use netkv_wire::{
    CONTROLLER_IP, FrameView, Ip, Key, Mark, Message, Op, SERVICE_IP, Status, client_of_ip,
    partition, server_ip,
};

use super::frame_of;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    Client,
    Server(u16),
    Controller,
    Switch,
}

#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub slot: usize,
    pub generation: u32,
    pub bitmap: u8,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    version: u32,
    valid: u32,
    length: u16,
    value: Vec<u8>,
}

pub struct Switch {
    servers: u16,
    pub lookup: HashMap<Key, Entry>,
    slots: Vec<Slot>,
    pub hits: u64,
}

impl Switch {
    pub fn new(servers: u16, slots: usize) -> Self {
        Self { servers, lookup: HashMap::new(), slots: vec![Slot::default(); slots], hits: 0 }
    }

    /// Power cycle: tables and registers are empty.
    pub fn restart(&mut self) {
        self.lookup.clear();
        self.slots.fill(Slot::default());
    }

    pub fn set_version(&mut self, slot: usize, version: u32) {
        self.slots[slot].version = version;
    }

    /// The value that a read of `key` would get from the switch now.
    pub fn cached(&self, key: &Key) -> Option<&[u8]> {
        let entry = self.lookup.get(key)?;
        let slot = &self.slots[entry.slot];
        (slot.valid == entry.generation).then(|| &slot.value[..usize::from(slot.length)])
    }

    fn route(&self, ip: Ip, key: &Key) -> Node {
        match ip {
            SERVICE_IP => Node::Server(partition(key, self.servers)),
            CONTROLLER_IP => Node::Controller,
            _ if client_of_ip(ip).is_some() => Node::Client,
            [_, _, high, low] => Node::Server(u16::from_be_bytes([high, low])),
        }
    }

    pub fn process(&mut self, bytes: &[u8]) -> (Node, Vec<u8>) {
        let frame = FrameView::parse(bytes).expect("roles write frames that parse");
        let key = frame.key();
        let destination = frame.destination();
        let node = self.route(destination, &key);
        if destination != SERVICE_IP {
            return (node, bytes.to_vec());
        }
        let entry = self.lookup.get(&key).copied();
        let back = |status| frame_of(&frame.reply(status));
        let to_sender = self.route(frame.source(), &key);
        let Some(entry) = entry else {
            return match frame.op() {
                Op::Update | Op::Invalidate => (to_sender, back(Status::NotCached)),
                _ => (node, self.forward(&frame, None)),
            };
        };
        let slot = &mut self.slots[entry.slot];
        match frame.op() {
            Op::Get if slot.valid == entry.generation => {
                self.hits += 1;
                let value = &slot.value[..usize::from(slot.length)];
                let reply = Message { cache_hit: true, ..frame.reply(Status::Ok) };
                return (to_sender, frame_of(&reply.with_value(value)));
            }
            Op::Update => {
                let mark = frame.mark().expect("updates are marked");
                let status = if mark.generation != entry.generation {
                    Status::NotCached
                } else if mark.version != slot.version {
                    Status::Stale
                } else {
                    assert_eq!(mark.bitmap, entry.bitmap, "the mark is the switch's own");
                    slot.value = frame.value().to_vec();
                    slot.length = frame.length();
                    slot.valid = entry.generation;
                    Status::Ok
                };
                return (to_sender, back(status));
            }
            Op::Put | Op::Delete | Op::Invalidate => {
                slot.version = slot.version.wrapping_add(1);
                slot.valid = 0;
            }
            _ => {}
        }
        let mark =
            Mark { generation: entry.generation, version: slot.version, bitmap: entry.bitmap };
        if frame.op() == Op::Invalidate {
            return (to_sender, frame_of(&frame.reply(Status::Ok).with_mark(mark)));
        }
        (node, self.forward(&frame, Some(mark)))
    }

    /// On to the owner, marked if the key is cached.
    fn forward(&self, frame: &FrameView<'_>, mark: Option<Mark>) -> Vec<u8> {
        let owner = server_ip(partition(&frame.key(), self.servers));
        let mut message = Message::request(
            frame.source(),
            owner,
            frame.op(),
            frame.sender(),
            frame.request(),
            frame.key(),
        );
        message.mark = mark;
        frame_of(&message.with_value(frame.value()))
    }
}
