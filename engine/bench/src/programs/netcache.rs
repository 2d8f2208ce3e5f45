//! `netcache.p4`: the only switch of a rack, with a write-through cache.

use super::netcache_by_hand::{Cached, NetCache};
use super::rack;
use super::write_through::{ByHand, LookupEntry, NETCACHE_PATHS, WriteThrough};

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
    by_hand: Some(|case, sampling| {
        let forwarding = rack::forwarding(case);
        Box::new(NetCache::new(forwarding, sampling.below, sampling.hot_threshold))
    }),
    counted: &[
        "NetkvIngress.drop.reasons",
        "NetkvIngress.epoch.current",
        "NetkvIngress.hits.counts",
        "NetkvIngress.validity.version",
        "NetkvIngress.validity.valid",
        "NetkvIngress.values.length",
        "NetkvIngress.values.array0.cells",
        "NetkvIngress.values.array1.cells",
        "NetkvIngress.values.array2.cells",
        "NetkvIngress.values.array3.cells",
        "NetkvIngress.values.array4.cells",
        "NetkvIngress.values.array5.cells",
        "NetkvIngress.values.array6.cells",
        "NetkvIngress.values.array7.cells",
        "NetkvIngress.hot_keys.sketch0.cells",
        "NetkvIngress.hot_keys.sketch1.cells",
        "NetkvIngress.hot_keys.sketch2.cells",
        "NetkvIngress.hot_keys.sketch3.cells",
        "NetkvIngress.hot_keys.filter0.cells",
        "NetkvIngress.hot_keys.filter1.cells",
        "NetkvIngress.hot_keys.filter2.cells",
    ],
};

impl ByHand for NetCache {
    fn insert(&mut self, entry: &LookupEntry) {
        let LookupEntry { key, row, bitmap, generation } = *entry;
        self.insert(key, Cached { entry: row, row, bitmap, generation });
    }
}
