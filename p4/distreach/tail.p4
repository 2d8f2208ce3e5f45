/* DistReach, the last switch of a chain: it answers reads, and writes that the whole chain has
 * stored (rules in docs/schemes/distreach.md). */
#define TAIL
#include "distreach/switch.p4"
