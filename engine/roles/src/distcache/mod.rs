//! DistCache: single keys behind write-through caches in two layers of switches
//! (`docs/schemes/distcache.md`). The server is that of [`crate::netcache`] with an upper layer;
//! clients are those of [`crate::plain`].

use crate::netcache::{Config, Server};
use crate::records::Keying;
use crate::registry::ServerEntry;
use crate::single_key::{ServerConfig, SingleKeyFrames};

/// The registry's entry for servers.
pub(crate) const SERVER: ServerEntry = ServerEntry {
    name: "distcache",
    keying: |_| Keying::Ranges,
    keeps_sequences: false,
    frames: |_| Box::new(SingleKeyFrames),
    restore: &|options, now, applied| {
        let config = ServerConfig::of(options);
        let protocol = Config { upper_layer: true, ..config.protocol };
        Ok(Box::new(Server::restore(ServerConfig { protocol, ..config }, now, applied)))
    },
};
