//! NetCache: single keys behind a write-through cache in the switch (`docs/schemes/netcache.md`).
//! The server is that of [`crate::kits::write_through`], clients are those of
//! [`crate::kits::plain`].

use crate::entries::Roles;
use crate::kits::single_key::server;
use crate::kits::write_through::{self, Layers, WriteThrough};

/// One switch, which all frames from and to the servers pass.
#[derive(Debug, Default)]
pub struct OneSwitch;

impl Layers for OneSwitch {}

/// The same, and an UPDATE of a write is sent once, as in the published artefact of FarReach.
#[derive(Debug, Default)]
pub struct Unawaited;

impl Layers for Unawaited {
    const AWAITS_UPDATES: bool = false;
}

/// The protocol of servers.
pub type NetCache = WriteThrough<OneSwitch>;

/// The protocol of servers that await no answer to the UPDATE of a write.
pub type NetCacheUnawaited = WriteThrough<Unawaited>;

/// A storage server.
pub type Server = write_through::Server<OneSwitch>;

pub(crate) const ROLES: Roles = Roles {
    servers: &[
        server::role::<NetCache>("netcache"),
        server::role::<NetCacheUnawaited>("netcache-unawaited"),
    ],
    ..Roles::NONE
};
