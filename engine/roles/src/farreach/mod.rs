//! FarReach: single keys behind a write-back cache in the switch (docs/schemes/farreach.md).

pub mod client;
pub mod server;

pub use client::{Client, Preserved};
pub use server::Server;
