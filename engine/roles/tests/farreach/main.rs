//! FarReach: its client, its server, and traps over the shipped switch program.

#[path = "../common/mod.rs"]
mod common;

mod client;
mod server;
mod traps;
