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

use std::sync::OnceLock;

use netkv_wire::{FrameView, Message, write_frame};

use crate::Actions;

pub use client::{ClientHooks, client};
pub use server::{Order, Orders, ServerHooks, server};

/// What a hook gives, or the sentence with which it fails.
pub type Outcome<T> = Result<T, String>;

/// Why a role cannot go on, if it cannot.
#[derive(Debug, Default)]
pub struct Failure {
    sentence: OnceLock<String>,
    reported: bool,
}

impl Failure {
    /// What a hook has given; nothing if it has failed. The first failure counts.
    pub fn keep<T>(&self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|sentence| self.sentence.set(sentence)).ok()
    }

    /// Whether the role can go on.
    pub fn is_none(&self) -> bool {
        self.sentence.get().is_none()
    }

    /// Whether it is still to be reported.
    pub fn is_due(&self) -> bool {
        !self.is_none() && !self.reported
    }

    /// Reports it, once.
    pub fn report(&mut self, out: &mut Actions) {
        if let Some(sentence) = self.sentence.get().filter(|_| !self.reported) {
            out.fail(sentence.clone());
            self.reported = true;
        }
    }
}

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
