/* Counts the sampled requests of each cached key in the current epoch. COUNT reads the count. */

control Frequency(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells; // epoch (16) | count (16)
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        if (cell[31:16] == meta.epoch) {
            meta.count = cell[15:0];
        }
        if (meta.filled) {
            cells.write(meta.entry, 0);
        } else if (meta.sampled) {
            meta.count = meta.count |+| 1;
            cells.write(meta.entry, meta.epoch ++ meta.count);
        }
    }
}
