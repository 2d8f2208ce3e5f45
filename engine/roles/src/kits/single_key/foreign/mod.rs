//! Protocols of single keys that are not written in Rust.
//!
//! The binding to another language implements [`ServerHooks`] or [`ClientHooks`]. Requests, copies,
//! retries, service rate, load and history are those of [`single_key`](crate::kits::single_key);
//! the hooks have the decisions of the protocol. Hooks take frames as bytes and return [`Order`]s.
//!
//! A hook that fails returns a sentence. The role then stops, and reports the sentence with
//! [`Actions::fail`](crate::Actions::fail).

mod client;
mod encoding;
mod failure;
mod server;

pub use client::{ClientHooks, Foreign, client};
pub use failure::{Failure, Outcome};
pub use server::{Order, Orders, ServerHooks, server};
