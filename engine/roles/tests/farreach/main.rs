//! FarReach: its client, and traps over the shipped switch program.

// The library with mutants, in which no protection is disabled unless a test chooses one.
extern crate netkv_roles_mutants as netkv_roles;

#[path = "../common/mod.rs"]
mod common;

mod client;
mod traps;
