//! Multigets: tests of each role, of congested racks, and traps over the shipped switch program.

// The library with mutants, in which no protection is disabled unless a test chooses one.
extern crate netkv_roles_mutants as netkv_roles;

#[path = "../common/mod.rs"]
mod common;

mod congestion;
mod splitter;
mod traps;
mod units;

use netkv_roles::climc::CliMc;
use netkv_roles::coordimc::CoordiMc;
use netkv_roles::kits::multiget;
use netkv_roles::netmc::NetMc;

/// The part of a rack that splits requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// The switch (NetMC).
    NetMc,
    /// The client (CliMC).
    CliMc,
    /// A coordinator (CoordiMC).
    CoordiMc,
}

impl Architecture {
    fn role(self) -> &'static dyn multiget::Architecture {
        match self {
            Self::NetMc => &NetMc,
            Self::CliMc => &CliMc,
            Self::CoordiMc => &CoordiMc,
        }
    }
}
