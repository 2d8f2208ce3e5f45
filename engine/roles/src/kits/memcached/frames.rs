//! The view of memcached's frames that drivers need.

use std::fmt::Write;

use netkv_wire::Key;
use netkv_wire::memcached::{Opcode, Reply, Request};
use netkv_workload::{key_id, record_number};

use crate::{Frames, Work, read_writer};

/// Requests and replies of memcached.
#[derive(Debug, Clone, Copy)]
pub struct MemcachedFrames;

fn key_of(request: &Request<'_>) -> Option<Key> {
    request.key.try_into().ok()
}

impl Frames for MemcachedFrames {
    fn work(&self, frame: &[u8]) -> Option<Work> {
        let request = Request::parse(frame).ok()?;
        let key = key_of(&request);
        Some(match request.opcode {
            Opcode::Get => Work::Get(1, key),
            Opcode::Set => Work::Put(key),
            Opcode::Delete => Work::Delete(key),
        })
    }

    /// The only key is part of the cost of every frame.
    fn keys(&self, _: &[u8]) -> u8 {
        0
    }

    /// Replies have no key, so they are about every key.
    fn is_about(&self, frame: &[u8], keys: &[Key]) -> bool {
        match Request::parse(frame) {
            Ok(request) => {
                keys.is_empty() || key_of(&request).is_some_and(|key| keys.contains(&key))
            }
            Err(_) => Reply::parse(frame).is_ok(),
        }
    }

    fn describe(&self, frame: &[u8]) -> Option<String> {
        let mut text = String::new();
        let value = if let Ok(request) = Request::parse(frame) {
            let [_, _, high, low] = request.source;
            let client = u16::from_be_bytes([high, low]);
            let _ = write!(text, "{:?} {client}:{}", request.opcode, request.opaque);
            match key_of(&request).and_then(|key| key_id(&key)) {
                Some(id) => _ = write!(text, " key {}", record_number(id)),
                None => _ = write!(text, " key {:02x?}", request.key),
            }
            if request.cas != 0 {
                let _ = write!(text, " CAS {}", request.cas);
            }
            key_of(&request).map(|key| (key, request.value))
        } else {
            let reply = Reply::parse(frame).ok()?;
            let [_, _, high, low] = reply.destination;
            let client = u16::from_be_bytes([high, low]);
            let (opcode, opaque, status) = (reply.opcode, reply.opaque, reply.status);
            let _ = write!(text, "{opcode:?}Reply {client}:{opaque} status {status}");
            let _ = write!(text, " CAS {} value of {} bytes", reply.cas, reply.value.len());
            None
        };
        if let Some(writer) = value.and_then(|(key, value)| read_writer(&key, value)) {
            let _ = write!(text, " value: {}:{}", writer.client, writer.request);
        }
        Some(text)
    }
}
