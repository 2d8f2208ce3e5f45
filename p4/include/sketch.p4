/* Finds hot keys among the sampled requests for keys that no entry serves. */
#ifndef NETKV_SKETCH_P4
#define NETKV_SKETCH_P4

/* The part in ingress, which has stages to spare (FarReach, section V-A): the key's CRC is there
 * already; with this one the halves of both are the indices of the rows (why: hot_keys.p4). */
control SketchHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        hash(meta.swapped_hash, HashAlgorithm.crc32, 32w0,
             { hdr.kv.key[63:0], hdr.kv.key[127:64] }, 64w0x100000000);
    }
}

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

#endif
