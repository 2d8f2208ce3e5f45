//! What the protocols with one key in each frame share: the server and the client of [`netkv_wire`]'s
//! `kv` header, each generic over the protocol that it serves.
//!
//! A protocol implements [`server::Protocol`] and [`client::Protocol`] and keeps its own state in the
//! type that does; everything else about requests, copies, retries and the load is here. [`foreign`] has
//! the protocols that are not written in Rust.

pub mod client;
pub mod foreign;
pub mod frames;
pub mod mutation;
pub mod server;

pub use client::Client;
pub use frames::SingleKeyFrames;
pub use server::{Server, ServerConfig};
