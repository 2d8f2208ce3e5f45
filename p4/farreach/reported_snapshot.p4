/* The last snapshot for which an entry reported its original record. The first write of an entry
 * after the snapshot point sends the record as it was at that point to the controller. */

control ReportedSnapshot(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        if (meta.filled) {
            cells.write(meta.entry, 0);
        } else if (meta.role == ROLE_CONTROL) {
            if (cell != 0 && cell == hdr.slot.number) {
                meta.further_bits = BIT_OVERWRITTEN;
            }
        } else if (cell != meta.snapshot) {
            meta.original = meta.applied;
            meta.refreshes = false; // only a write may change a record that belongs to the snapshot
            if (meta.applied) {
                cells.write(meta.entry, meta.snapshot);
            }
        }
    }
}
