/* DistCache, a switch above the last layer: it answers the reads that were sent to the upper copies
 * that it has (rules in docs/schemes/distcache.md). */
#define UPPER_LAYER
#include "distcache/cache_switch.p4"
