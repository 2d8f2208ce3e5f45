/* Parts of statistics about keys: which requests are counted, and estimates of counts. */

/* Selects the requests that are counted: `sample_below` of 65536. The choice depends on the request
 * alone, so a run can be repeated. */
control Sampler(in headers_t hdr, inout metadata_t meta, in bit<32> sample_below) {
    bit<32> draw = 0;

    apply {
        hash(draw, HashAlgorithm.crc16, 32w0, { hdr.kv.sender, hdr.kv.request, hdr.kv.key },
             32w65536);
        meta.sampled = draw < sample_below;
    }
}

/* One row of a Count-Min sketch: counts the key and lowers the estimate to its count. */
control SketchRow(inout metadata_t meta, in bit<16> index) {
    register<bit<32>>(65536) cells; // epoch (16) | count (16)
    bit<32> cell = 0;
    bit<16> count = 0;

    apply {
        cells.read(cell, (bit<32>) index);
        count = 0;
        if (cell[31:16] == meta.epoch) {
            count = cell[15:0];
        }
        count = count |+| 1;
        cells.write((bit<32>) index, meta.epoch ++ count);
        if (count < meta.estimate) {
            meta.estimate = count;
        }
    }
}
