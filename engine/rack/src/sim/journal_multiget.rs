//! Frames of multigets in words, for the journal.

use std::fmt::Write;

use netkv_roles::multiget::Layout;
use netkv_roles::read_writer;
use netkv_wire::Key;
use netkv_wire::multiget::View;
use netkv_workload::{key_id, key_of_wire};

/// The frame, if it is one of a multiget.
pub(super) fn parse<'a>(bytes: &'a [u8], layout: &Layout) -> Option<View<'a>> {
    View::parse(bytes, layout.fields).ok()
}

/// Whether it asks for one of these keys, or answers one.
pub(super) fn is_about(frame: &View<'_>, layout: &Layout, keys: &[Key]) -> bool {
    let known = |bytes| keys.contains(&key_of_wire(bytes, layout.key_size));
    frame.keys().any(known) || frame.entries().any(|entry| known(entry.key))
}

/// What it asks or answers, of which keys, and whose values it carries.
pub(super) fn describe(frame: &View<'_>, layout: &Layout) -> String {
    let header = frame.header();
    let [.., high, low] = if header.reply { frame.destination() } else { frame.source() };
    let client = u16::from_be_bytes([high, low]);
    let reply = if header.reply { "Reply" } else { "" };
    let mut text = format!("{:?}{reply} {client}:{} OID {}", header.op, header.id, header.oid);
    if header.reply {
        let _ = write!(text, " {:?}", frame.answer());
    } else {
        let (keyidx, clo) = (header.keyidx, header.clo);
        let _ = write!(text, " KEYIDX {keyidx:#018b} CLO {clo}");
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
