//! The shared part of the protocols with one key in each frame: the server and the client of
//! [`netkv_wire`]'s `kv` header, each generic over its protocol.
//!
//! The type that implements [`server::Protocol`] and [`client::Protocol`] has the protocol's state;
//! requests, copies, retries and the load are handled here. [`foreign`] has the protocols that are
//! not written in Rust.

pub mod client;
pub mod foreign;
pub mod frames;
pub mod server;

pub use client::Client;
pub use frames::SingleKeyFrames;
pub use server::{Server, ServerConfig};
