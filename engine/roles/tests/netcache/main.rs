//! NetCache: tests of the server frame by frame, of its restarts, of racks over a lossy network,
//! and traps.

// The library with mutants, in which no protection is disabled unless a test chooses one.
extern crate netkv_roles_mutants as netkv_roles;

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
