/* The deduplication window: a write has one effect. The switch remembers the last 1024 requests of
 * each of 64 clients, and whether it applied them. A write that was forwarded once is always
 * forwarded, because only the server knows whether it was carried out. A write that was applied is
 * answered again with its own version. */

control Dedup(inout headers_t hdr, inout metadata_t meta) {
    // request[31:10] (22) | used (1) | applied (1) | incarnation[7:0] of the applied write
    register<bit<32>>(65536) cells;
    bit<16> client = 0;
    bit<32> cell = 0;
    bit<22> ahead = 0;

    apply {
        client = hdr.kv.sender - 1;
        if (client < 64) {
            meta.dedup_index = 16w0 ++ client[5:0] ++ hdr.kv.request[9:0];
            cells.read(cell, meta.dedup_index);
            ahead = cell[31:10] - hdr.kv.request[31:10];
            if (cell[9:9] == 1 && ahead == 0) {
                meta.repeated = cell[8:8] == 1;
                if (meta.repeated) {
                    meta.incarnation = meta.incarnation
                                       - (bit<32>) (meta.incarnation[7:0] - cell[7:0]);
                }
            } else if (cell[9:9] == 1 && ahead < 0x40000) {
                meta.drop_reason = DROP_LATE; // older by less than 2^28 requests
            } else {
                meta.first_copy = true;
                meta.applied = meta.validity == VALID && meta.incoming.fits
                               && meta.same_incarnation;
                cells.write(meta.dedup_index, hdr.kv.request[31:10] ++ 1w1
                                              ++ (bit<1>) meta.applied ++ meta.incarnation[7:0]);
            }
        }
    }
}
