/* The sequence number of the record in an entry. */

control RecordSequence(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;

    apply {
        cells.read(meta.stored.sequence, meta.entry);
        if (meta.stores) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}
