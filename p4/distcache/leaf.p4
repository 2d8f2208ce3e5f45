/* DistCache, a switch of the last layer: NetCache for the keys of its servers (rules in
 * docs/schemes/distcache.md). */
#include "distcache/cache_switch.p4"
