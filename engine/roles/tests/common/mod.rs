//! A rack in virtual time for protocol tests: roles, the real switch program, a bad network.
#![allow(dead_code)] // Each test binary uses its own part.

pub mod bench;
pub mod controller;
pub mod program;
pub mod switch;
pub mod world;

use netkv_wire::{Message, write_frame};

pub fn frame_of(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, message);
    bytes
}
