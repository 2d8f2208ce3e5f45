/* Which requests take effect: the hash of their key, the settings of the controller, the mode of
 * the switch, and the deduplication window of the head. */

/* The hash of the key of a request that another switch has sent to the owner of the key.
 * Partition computes it for requests to the service. */
control KeyHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.ipv4.dst != SERVICE_ADDRESS) {
            hash(meta.key_hash, HashAlgorithm.crc32, 32w0, { hdr.kv.key }, 64w0x100000000);
        }
    }
}

/* Settings of the controller for ingress. */

const bit<8> MODE_CLOSED = 0; // requests of the chain are dropped
const bit<8> MODE_OPEN = 1;
const bit<8> MODE_HOLD = 2;   // requests for keys in the lookup table are dropped; a switch above
                              // the tail only routes the others

control Settings(inout metadata_t meta) {
    /* sample_below: this many of 65536 requests are counted (0: none, 65536: all).
     * hot_threshold: from this estimate on, the tail reports an uncached key as hot to its owner.
     * epoch: of the statistics. */
    action configure(bit<32> sample_below, bit<16> hot_threshold, bit<16> epoch, bit<8> mode) {
        meta.sample_below = sample_below;
        meta.hot_threshold = hot_threshold;
        meta.epoch = epoch;
        meta.mode = mode;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF, 0, MODE_CLOSED);
    }

    apply {
        settings.apply();
    }
}

/* Drops the requests that the mode of the switch does not let pass. Clients repeat them. While a
 * chain is held, only its tail takes part in what passes; the other switches route it. */
control Mode(inout metadata_t meta) {
    apply {
        if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
            if (meta.mode == MODE_CLOSED || (meta.mode == MODE_HOLD && meta.cached)) {
                meta.drop_reason = DROP_CLOSED;
            }
#ifndef TAIL
            else if (meta.mode == MODE_HOLD) {
                meta.role = ROLE_NONE;
            }
#endif
        }
    }
}

/* A request has one sequence: the head remembers the last 1024 requests of each of 64 clients. A
 * request that comes again gets the sequence that it has, so another copy of it changes nothing
 * that the first one did not change.
 *
 * Entries take a copy only if the first one passed the same generation of the head's entry. After
 * any other, newer writes may have passed without the entry, and be at the server. */
control Dedup(inout headers_t hdr, inout metadata_t meta) {
    // request[31:10] (22) | used (1) | storable (1) | incarnation[7:0] | generation (32)
    register<bit<64>>(65536) cells;
    bit<16> client = 0;
    bit<64> cell = 0;
    bit<22> ahead = 0;
    bool    same = false;

    apply {
        client = hdr.kv.sender - 1;
        meta.storable = meta.storable && meta.validity == VALID && client < 64;
        if (client < 64) {
            meta.dedup_index = 16w0 ++ client[5:0] ++ hdr.kv.request[9:0];
            cells.read(cell, meta.dedup_index);
            ahead = cell[63:42] - hdr.kv.request[31:10];
            same = cell[41:41] == 1 && ahead == 0;
            if (same && cell[39:32] == meta.incarnation[7:0]) {
                meta.repeated = true;
            } else if (same && meta.previous != 0 && cell[39:32] == meta.previous[7:0]) {
                meta.repeated = true;
                meta.own_incarnation = meta.previous;
            } else if (same) {
                // No switch takes its sequence any more, and a new one could have a second effect.
                // A client without an incarnation has its writes at the server, which knows copies.
                meta.past = hdr.version_stamp.incarnation != 0;
                meta.storable = false;
            } else if (cell[41:41] == 1 && ahead < 0x40000) {
                meta.drop_reason = DROP_LATE; // older by less than 2^28 requests
            } else {
                meta.first_copy = true;
                cells.write(meta.dedup_index,
                            hdr.kv.request[31:10] ++ 1w1 ++ (bit<1>) meta.storable
                            ++ meta.incarnation[7:0] ++ meta.generation);
            }
            if (meta.repeated) {
                meta.storable = meta.storable && cell[40:40] == 1
                                && cell[31:0] == meta.generation;
            }
        }
    }
}
