/* The largest number of any write of the key that an entry knows of: a record that is older than it
 * is never taken for the latest one. */
#ifndef NETKV_FLOOR_P4
#define NETKV_FLOOR_P4

control Floor(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> floor = 0;

    apply {
        if (meta.role == ROLE_REPLY) {
            cells.read(floor, meta.entry);
            meta.outdates = is_newer(meta.number, floor);
            // Only what passed a valid entry on its way to the server refreshes it.
            meta.refreshes = hdr.kv.op == OP_GET_REPLY && meta.brought.fits
                             && meta.validity == VALID
                             && hdr.stamp.generation == meta.generation
                             && (hdr.stamp.bits & BIT_EMBEDDED) == 0
                             && (meta.outdates || meta.number == floor);
        }
        if (meta.role != ROLE_REPLY || meta.outdates) {
            cells.write(meta.entry, meta.number);
        }
    }
}

#endif
