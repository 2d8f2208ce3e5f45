/* What an entry's record is. Latest: no later write of its key is known. Dirty: the server has not
 * got it from the switch. */
#ifndef NETKV_FACTS_P4
#define NETKV_FACTS_P4

control Facts(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells; // latest, dirty, deleted | life[12:0] | length
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        meta.held.latest = cell[31:31] == 1;
        meta.held.dirty = cell[30:30] == 1;
        meta.held.deleted = cell[29:29] == 1;
        meta.held.life = life_of(cell[28:16], meta.life);
        meta.held.length = cell[15:0];
        meta.held.chunks = (cell[15:0] + (CHUNK_BYTES - 1))[11:4];
        if (meta.stores) {
            cells.write(meta.entry, (bit<1>) !meta.filled ++ (bit<1>) meta.applied
                                    ++ (bit<1>) meta.brought.deleted ++ meta.brought.life[12:0]
                                    ++ meta.brought.length);
        } else if (meta.outdates) {
            // A reply tells that the server has a later record: this one is of no use to it any more.
            cells.write(meta.entry, 1w0 ++ (bit<1>) (meta.held.dirty && meta.role != ROLE_REPLY)
                                    ++ cell[29:0]);
        }
    }
}

/* The number of the record in the entry. */
control Number(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;

    apply {
        cells.read(meta.held.number, meta.entry);
        if (meta.stores) {
            cells.write(meta.entry, meta.number);
        }
    }
}

#endif
