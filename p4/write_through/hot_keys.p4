/* Finds hot keys among the sampled reads of uncached keys and reports each key once an epoch (slide
 * "Query Statistics"). A Count-Min sketch of 4 rows estimates the reads. A Bloom filter of 3 rows
 * remembers the reported keys.
 *
 * Two CRC-32 give the indices of all rows: the upper and lower halves of the CRC of the key and of
 * the CRC of the key with its halves swapped. A salt before the key would not work. CRCs are
 * linear, so two keys that collide in one row would collide in every salted row. */

/* One row of the Bloom filter of reported keys: notes the key, and tests whether it was new. */
control FilterRow(inout metadata_t meta, in bit<18> index) {
    register<bit<16>>(262144) cells; // the epoch of the last report
    bit<16> cell = 0;

    apply {
        cells.read(cell, (bit<32>) index);
        if (cell != meta.epoch) {
            meta.unreported = true;
            cells.write((bit<32>) index, meta.epoch);
        }
    }
}

struct hot_key_t {
    bit<128> key;
    bit<16>  count;
    bit<16>  epoch;
}

control HotKeys(inout headers_t hdr, inout metadata_t meta) {
    SketchRow() sketch0;
    SketchRow() sketch1;
    SketchRow() sketch2;
    SketchRow() sketch3;
    FilterRow() filter0;
    FilterRow() filter1;
    FilterRow() filter2;
    bit<32> straight = 0;
    bit<32> swapped = 0;

    apply {
        hash(straight, HashAlgorithm.crc32, 32w0, { hdr.kv.key }, 64w0x100000000);
        hash(swapped, HashAlgorithm.crc32, 32w0, { hdr.kv.key[63:0], hdr.kv.key[127:64] },
             64w0x100000000);
        meta.estimate = 0xFFFF;
        sketch0.apply(meta, straight[15:0]);
        sketch1.apply(meta, straight[31:16]);
        sketch2.apply(meta, swapped[15:0]);
        sketch3.apply(meta, swapped[31:16]);
        if (meta.estimate >= meta.hot_threshold) {
            filter0.apply(meta, straight[17:0]);
            filter1.apply(meta, straight[31:14]);
            filter2.apply(meta, swapped[17:0]);
            if (meta.unreported) {
                digest<hot_key_t>(1, { hdr.kv.key, meta.estimate, meta.epoch });
            }
        }
    }
}
