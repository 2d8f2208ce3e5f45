//! Designs for FPGAs, simulated cycle by cycle.
//!
//! `netkv fpga build` makes a shared library of RTL, with the C interface of
//! `fpga/harness/netkv_fpga.h`. A [`Design`] is an instance of such a library: it has no clock of
//! its own: the drivers of `netkv-rack` run it in virtual time or live.

mod abi;
mod design;
mod interface;
mod memory;

pub use design::Design;
pub use interface::{BusSettings, Description, Error, PortCounters, PortSettings, Transmitted};
