/* Which requests take effect: the settings of the controller, the incarnation of the switch, and
 * the deduplication window. */

/* Settings of the controller for ingress. */
control Settings(inout metadata_t meta) {
    bool closed = true;

    /* sample_below: this many of 65536 requests are counted (0: none, 65536: all).
     * hot_threshold: from this estimate on, the switch reports an uncached key as hot to its owner.
     * epoch: of the statistics. open: 0 while the cache is recovered. */
    action configure(bit<32> sample_below, bit<16> hot_threshold, bit<16> epoch, bit<8> open) {
        meta.sample_below = sample_below;
        meta.hot_threshold = hot_threshold;
        meta.epoch = epoch;
        closed = open == 0;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF, 0, 0);
    }

    apply {
        settings.apply();
        if (closed && (meta.role == ROLE_READ || meta.role == ROLE_WRITE)) {
            meta.drop_reason = DROP_CLOSED;
        }
    }
}

/* The incarnation of the switch. It is set in egress, where writes get their sequence numbers. A
 * table write reaches the pipelines one after another. In ingress, writes of the same key could
 * therefore get incarnations that are out of order. */
control Incarnation(inout headers_t hdr, inout metadata_t meta) {
    action set(bit<32> incarnation) {
        meta.incarnation = incarnation;
    }

    table current {
        actions = { set; }
        default_action = set(0);
    }

    apply {
        current.apply();
        // The incarnation before the current one counts as the same: it continues the same sequence
        // numbers. 0 is no incarnation.
        meta.same_incarnation = hdr.version_stamp.incarnation != 0
                                && (hdr.version_stamp.incarnation == meta.incarnation
                                    || hdr.version_stamp.incarnation == meta.incarnation - 1);
        if (meta.same_incarnation) {
            meta.sequence = hdr.version_stamp.sequence;
        }
        meta.incoming.incarnation = hdr.version_stamp.incarnation;
        if (meta.role == ROLE_WRITE) {
            meta.incoming.incarnation = meta.incarnation;
            meta.past = hdr.version_stamp.incarnation != 0 && !meta.same_incarnation;
        }
    }
}

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
