//! The view of frames with one key that drivers need.

use std::fmt::Write;

use netkv_wire::{FrameView, KV_OFFSET, Key, Op};
use netkv_workload::{key_id, record_number};

use crate::{Frames, Work, read_writer};

/// Offset of the key in a frame.
const KEY_AT: usize = KV_OFFSET + 12;

/// The frames of the `kv` header.
#[derive(Debug, Clone, Copy)]
pub struct SingleKeyFrames;

impl Frames for SingleKeyFrames {
    #[inline]
    fn work(&self, frame: &[u8]) -> Option<Work> {
        let op = frame.get(KV_OFFSET + 1).copied().and_then(Op::from_code)?;
        let key = || frame.get(KEY_AT..KEY_AT + 16)?.try_into().ok();
        match op {
            Op::Get => Some(Work::Get(1, key())),
            Op::Put => Some(Work::Put(key())),
            Op::Delete => Some(Work::Delete(key())),
            _ => None,
        }
    }

    /// The only key is part of the cost of every frame.
    fn keys(&self, _: &[u8]) -> u8 {
        0
    }

    fn is_about(&self, frame: &[u8], keys: &[Key]) -> bool {
        let about = |frame: FrameView<'_>| keys.is_empty() || keys.contains(&frame.key());
        FrameView::parse(frame).is_ok_and(about)
    }

    fn describe(&self, frame: &[u8]) -> Option<String> {
        let frame = FrameView::parse(frame).ok()?;
        let key = frame.key();
        let mut text = format!("{:?} {}:{}", frame.op(), frame.sender(), frame.request());
        match key_id(&key) {
            Some(id) => {
                let _ = write!(text, " key {}", record_number(id));
            }
            None => {
                let _ = write!(text, " key {key:02x?}");
            }
        }
        if frame.op().is_reply() {
            let _ = write!(text, " {:?}", frame.status());
        }
        if let Some(metadata) = frame.cache_metadata() {
            let _ =
                write!(text, " generation {} version {}", metadata.generation, metadata.version);
        }
        if let Some(writer) = read_writer(&key, frame.value()) {
            match writer.client {
                0 => text.push_str(" value: initial"),
                client => {
                    let _ = write!(text, " value: {client}:{}", writer.request);
                }
            }
        }
        Some(text)
    }
}
