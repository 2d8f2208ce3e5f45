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
