//! Designs for FPGAs, simulated cycle by cycle.
//!
//! `netkv fpga build` makes a shared library of RTL, with the C interface of
//! `fpga/harness/netkv_fpga.h`. A [`Design`] is an instance of such a library: it has no clock of
//! its own, so that a simulator or a test drives it in virtual time. A [`LiveDesign`] is the live
//! driver: each port is a UDP socket, a TAP device or a network interface.

mod abi;
mod design;
pub mod live;

pub use design::{Description, Design, Error, PortCounters, PortSettings, Transmitted};
pub use live::LiveDesign;
