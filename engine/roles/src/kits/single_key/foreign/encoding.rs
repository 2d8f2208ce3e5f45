//! Frames as hooks take them.

use netkv_wire::{FrameView, Message, write_frame};

/// Encodes the frame again.
pub(super) fn bytes_of(frame: &FrameView<'_>) -> Vec<u8> {
    let request = Message::request(
        frame.source(),
        frame.destination(),
        frame.op(),
        frame.sender(),
        frame.request(),
        frame.key(),
    );
    let message = Message {
        cache_hit: frame.cache_hit(),
        stamp: frame.stamp(),
        slot: frame.slot().unwrap_or_default(),
        status: frame.status(),
        length: frame.length(),
        cache_metadata: frame.cache_metadata(),
        value: frame.value(),
        ..request
    };
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &message);
    bytes
}
