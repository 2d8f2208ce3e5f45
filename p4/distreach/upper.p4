/* DistReach, any switch of a chain but the last: it stores the writes that pass, and the records of
 * replies (rules in docs/schemes/distreach.md). */
#include "distreach/switch.p4"
