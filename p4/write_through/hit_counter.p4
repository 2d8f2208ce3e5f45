/* Counts the sampled reads of each cached key in the current epoch (slide "Query Statistics"). A
 * read counts also if the entry is invalid: the count measures the popularity of the key. */

control HitCounter(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) counts; // epoch (16) | count (16)
    bit<32> cell = 0;

    apply {
        counts.read(cell, meta.entry);
        if (cell[31:16] == meta.epoch) {
            meta.hits = cell[15:0];
        }
        if (meta.sampled) {
            meta.hits = meta.hits |+| 1;
            counts.write(meta.entry, meta.epoch ++ meta.hits);
        }
    }
}
