/* Flags, incarnation and length of the record in an entry. Latest: no later write of the key is
 * known. Dirty: the server has not received the record from the switch. */

control EntryFlags(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells; // latest, dirty, deleted | incarnation[12:0] | length
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        meta.stored.latest = cell[31:31] == 1;
        meta.stored.dirty = cell[30:30] == 1;
        meta.stored.deleted = cell[29:29] == 1;
        meta.stored.incarnation = incarnation_of(cell[28:16], meta.incarnation);
        meta.stored.length = cell[15:0];
        meta.stored.chunks = (cell[15:0] + (CHUNK_BYTES - 1))[11:4];
        if (meta.stores) {
            cells.write(meta.entry, (bit<1>) meta.incoming.latest ++ (bit<1>) meta.applied
                                    ++ (bit<1>) meta.incoming.deleted
                                    ++ meta.incoming.incarnation[12:0] ++ meta.incoming.length);
        } else if (meta.outdates) {
            // A reply shows that the server has a later record and does not need this one.
            cells.write(meta.entry, 1w0 ++ (bit<1>) (meta.stored.dirty && meta.role != ROLE_REPLY)
                                    ++ cell[29:0]);
        }
    }
}
