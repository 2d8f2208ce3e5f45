//! Protocols of single keys that are not written in Rust.
//!
//! The binding to another language implements [`ServerHooks`] or [`ClientHooks`]. Requests, copies,
//! retries, service rate, load and history are those of [`single_key`](crate::single_key); the hooks
//! decide what a protocol may add. Hooks take frames as bytes and give [`Order`]s.
//!
//! A hook that fails gives a sentence. The role then does nothing any more and reports the sentence
//! with the next [`Actions::fail`](crate::Actions::fail).

mod client;
mod server;

use netkv_wire::{FrameView, Message, write_frame};

pub use client::{ClientHooks, client};
pub use server::{Order, Orders, ServerHooks, server};

/// What a hook gives, or the sentence with which it fails.
pub type Outcome<T> = Result<T, String>;

/// The whole frame.
fn bytes_of(frame: &FrameView<'_>) -> Vec<u8> {
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
        place: frame.place().unwrap_or_default(),
        status: frame.status(),
        length: frame.length(),
        mark: frame.mark(),
        value: frame.value(),
        ..request
    };
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &message);
    bytes
}
