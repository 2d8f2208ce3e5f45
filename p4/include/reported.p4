/* The snapshot in which an entry's original was reported last: the first write of an entry after
 * the snapshot point sends the record as it was at that point to the controller. */
#ifndef NETKV_REPORTED_P4
#define NETKV_REPORTED_P4

control Reported(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        if (meta.filled) {
            cells.write(meta.entry, 0);
        } else if (meta.role == ROLE_CONTROL) {
            meta.overwritten = cell != 0 && cell == hdr.place.number;
        } else if (cell != meta.snapshot) {
            meta.original = meta.applied;
            meta.refreshes = false; // nothing but writes may change what the snapshot will hold
            if (meta.applied) {
                cells.write(meta.entry, meta.snapshot);
            }
        }
    }
}

#endif
