//! Multigets: each role one by one, racks that are congested, and traps over the switch program that
//! ships.

#[path = "../common/mod.rs"]
mod common;

mod congestion;
mod splitter;
mod traps;
mod units;

use netkv_roles::multiget;
use netkv_roles::multiget::climc::CliMc;
use netkv_roles::multiget::coordimc::CoordiMc;
use netkv_roles::multiget::netmc::NetMc;

/// Who splits the requests of a rack.
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
