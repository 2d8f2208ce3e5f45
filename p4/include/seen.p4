/* A write has one effect: the switch remembers the last 1024 requests of each of 64 clients, and
 * whether it applied them. A write that was forwarded once is always forwarded, since only the
 * server knows whether it was done; one that was applied is answered again with its own sequence. */
#ifndef NETKV_SEEN_P4
#define NETKV_SEEN_P4

control Seen(inout headers_t hdr, inout metadata_t meta) {
    // request[31:10] (22) | used (1) | applied (1) | life[7:0], in which it was applied
    register<bit<32>>(65536) cells;
    bit<16> client = 0;
    bit<32> cell = 0;
    bit<22> ahead = 0;

    apply {
        client = hdr.kv.sender - 1;
        if (client < 64) {
            meta.slot = 16w0 ++ client[5:0] ++ hdr.kv.request[9:0];
            cells.read(cell, meta.slot);
            ahead = cell[31:10] - hdr.kv.request[31:10];
            if (cell[9:9] == 1 && ahead == 0) {
                meta.repeated = cell[8:8] == 1;
                if (meta.repeated) {
                    meta.life = meta.life - (bit<32>) (meta.life[7:0] - cell[7:0]);
                }
            } else if (cell[9:9] == 1 && ahead < 0x40000) {
                meta.drop_reason = DROP_LATE; // by less than 2^28 requests
            } else {
                meta.unseen = true;
                meta.applied = meta.validity == VALID && meta.brought.fits && meta.this_life;
                cells.write(meta.slot, hdr.kv.request[31:10] ++ 1w1 ++ (bit<1>) meta.applied
                                       ++ meta.life[7:0]);
            }
        }
    }
}

/* The numbers that applied writes got. */
control Applied(inout metadata_t meta) {
    register<bit<32>>(65536) numbers;

    apply {
        if (meta.repeated) {
            numbers.read(meta.number, meta.slot);
        } else {
            numbers.write(meta.slot, meta.number);
        }
    }
}

#endif
