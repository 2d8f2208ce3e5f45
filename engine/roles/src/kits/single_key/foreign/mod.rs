//! Protocols of single keys that are not written in Rust.
//!
//! The binding to another language implements [`ServerHooks`] or [`ClientHooks`]. Requests, copies,
//! retries, service rate, load and history are those of [`single_key`](crate::kits::single_key); the
//! hooks have the decisions of the protocol. Hooks take frames as bytes and return [`Order`]s.
//!
//! A hook that fails returns a sentence. The role then stops, and reports the sentence with
//! [`Actions::fail`](crate::Actions::fail).

mod client;
mod server;

use std::sync::OnceLock;

use netkv_wire::{FrameView, Message, write_frame};

use crate::Actions;

pub use client::{ClientHooks, client};
pub use server::{Order, Orders, ServerHooks, server};

/// The result of a hook, or the sentence with which it fails.
pub type Outcome<T> = Result<T, String>;

/// The failure of a role, if there is one.
#[derive(Debug, Default)]
pub struct Failure {
    sentence: OnceLock<String>,
    reported: bool,
}

impl Failure {
    /// The result of a hook; none if it has failed. The first failure is kept.
    pub fn keep<T>(&self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|sentence| self.sentence.set(sentence)).ok()
    }

    /// Whether there is no failure.
    pub fn is_none(&self) -> bool {
        self.sentence.get().is_none()
    }

    /// Whether the failure is still to be reported.
    pub fn is_due(&self) -> bool {
        !self.is_none() && !self.reported
    }

    /// Reports the failure, once.
    pub fn report(&mut self, out: &mut Actions) {
        if let Some(sentence) = self.sentence.get().filter(|_| !self.reported) {
            out.fail(sentence.clone());
            self.reported = true;
        }
    }
}

/// Encodes the frame again.
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
