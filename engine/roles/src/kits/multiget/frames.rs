//! The view of multiget frames that drivers need.

use std::fmt::Write;

use netkv_wire::multiget::{MULTIGET_PORT, Op, View};
use netkv_wire::{KV_OFFSET, Key};
use netkv_workload::{key_id, key_of_wire};

use super::Layout;
use crate::{Frames, Work, read_writer};

/// The frames of a rack with this layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct MultigetFrames(pub(super) Layout);

/// OP and NUMKEY of a frame.
#[inline]
fn op_and_keys(frame: &[u8]) -> Option<(u8, u8)> {
    let port = frame.get(KV_OFFSET - 6..KV_OFFSET - 4)?;
    let header = frame.get(KV_OFFSET..KV_OFFSET + 7)?;
    (port == MULTIGET_PORT.to_be_bytes()).then_some((header[0], header[6]))
}

impl Frames for MultigetFrames {
    #[inline]
    fn work(&self, frame: &[u8]) -> Option<Work> {
        let (op, keys) = op_and_keys(frame)?;
        Some(match Op::from_code(op)? {
            Op::Put => Work::Put(None),
            Op::Delete => Work::Delete(None),
            Op::Mget | Op::Get => Work::Get(keys, None),
        })
    }

    #[inline]
    fn keys(&self, frame: &[u8]) -> u8 {
        op_and_keys(frame).map_or(0, |(_, keys)| keys)
    }

    fn is_about(&self, frame: &[u8], keys: &[Key]) -> bool {
        let known = |bytes: &[u8]| keys.contains(&key_of_wire(bytes, self.0.key_size));
        View::parse(frame, self.0.fields).is_ok_and(|frame| {
            keys.is_empty()
                || frame.keys().any(known)
                || frame.entries().any(|entry| known(entry.key))
        })
    }

    fn describe(&self, frame: &[u8]) -> Option<String> {
        View::parse(frame, self.0.fields).ok().map(|frame| describe(&frame, &self.0))
    }
}

fn describe(frame: &View<'_>, layout: &Layout) -> String {
    let header = frame.header();
    let [.., high, low] = if header.reply { frame.destination() } else { frame.source() };
    let client = u16::from_be_bytes([high, low]);
    let reply = if header.reply { "Reply" } else { "" };
    let mut text = format!("{:?}{reply} {client}:{} OID {}", header.op, header.id, header.oid);
    if header.reply {
        let _ = write!(text, " {:?}", frame.answer());
    } else {
        let (bits, clo) = (usize::from(layout.fields.split_keys), header.clo);
        let keyidx = header.keyidx >> (u128::BITS as usize - bits);
        let _ = write!(text, " KEYIDX 0b{keyidx:0bits$b} CLO {clo}");
    }
    let named = |bytes: &[u8]| {
        let key = key_of_wire(bytes, layout.key_size);
        let name = key_id(&key).map_or_else(|| format!("{bytes:02x?}"), |id| id.to_string());
        (key, name)
    };
    for bytes in frame.asked() {
        let _ = write!(text, " key {}", named(bytes).1);
    }
    for entry in frame.entries() {
        let (key, name) = named(entry.key);
        let _ = write!(text, " key {name}");
        if let Some(writer) = read_writer(&key, entry.value) {
            match writer.client {
                0 => text.push_str(" (initial)"),
                client => {
                    let _ = write!(text, " ({client}:{})", writer.request);
                }
            }
        } else if header.op.reads() {
            text.push_str(" (not found)");
        }
    }
    text
}
