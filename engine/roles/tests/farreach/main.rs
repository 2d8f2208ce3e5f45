//! FarReach: its client, its server, and traps over the switch program that ships.

#[path = "../common/mod.rs"]
mod common;

mod client;
mod server;
mod traps;
