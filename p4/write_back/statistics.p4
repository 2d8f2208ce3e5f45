/* Statistics about keys: the frequency of cached keys, and a sketch that finds hot keys among the
 * others. */

/* The second hash of the key for the sketch. It is computed in ingress, which has free stages
 * (FarReach, section V-A). The halves of this CRC and of the CRC in meta.key_hash are the indices
 * of the rows. A CRC with a salt would not do: CRCs are linear, so keys that collide in one row
 * would collide in all. */
control SketchHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        hash(meta.swapped_hash, HashAlgorithm.crc32, 32w0,
             { hdr.kv.key[63:0], hdr.kv.key[127:64] }, 64w0x100000000);
    }
}

/* Finds hot keys among the sampled requests for keys that no entry serves: a Count-Min sketch. */
control Sketch(inout metadata_t meta) {
    SketchRow() row0;
    SketchRow() row1;
    SketchRow() row2;
    SketchRow() row3;

    apply {
        meta.estimate = 0xFFFF;
        row0.apply(meta, meta.key_hash[15:0]);
        row1.apply(meta, meta.key_hash[31:16]);
        row2.apply(meta, meta.swapped_hash[15:0]);
        row3.apply(meta, meta.swapped_hash[31:16]);
        meta.hot = meta.estimate >= meta.hot_threshold;
    }
}

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
