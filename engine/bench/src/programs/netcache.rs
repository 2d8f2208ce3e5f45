//! `netcache.p4`: the only switch of a rack, with a write-through cache.

use super::write_through::{NETCACHE_PATHS, WriteThrough};

/// The program `netcache.p4`.
pub(super) static NETCACHE: WriteThrough = WriteThrough {
    name: "netcache",
    paths: NETCACHE_PATHS,
    addressed: false,
    upper: false,
    follows_writes: true,
    reply_header: 0,
    serves: |_| true,
    fill_more: |_| Ok(()),
};
