/* The sequence number of the record in an entry. A write that is not newer than the record is
 * covered by it. */

control RecordSequence(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;

    apply {
        cells.read(meta.stored.sequence, meta.entry);
        meta.covered = meta.storable && (meta.stored.sequence == meta.sequence
                                         || is_newer(meta.stored.sequence, meta.sequence));
        if (meta.stores) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}
