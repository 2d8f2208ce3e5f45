//! NetCache: the server one frame at a time, its restarts, whole racks under a bad network, and traps.

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod controller;
mod histories;
mod restarts;
mod server;
mod switch;
mod traps;
mod world;
