/* What leaves the switch: replies of its own, and requests that it forwards to servers. */

/* Returns a frame to its sender: swaps the addresses and sets the lengths. Op and cache metadata
 * are those of the reply already. Both UDP ports are equal, so they stay. */
control Reflect(inout headers_t hdr, inout metadata_t meta) {
    bit<48> mac = 0;
    bit<32> address = 0;

    apply {
        mac = hdr.ethernet.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        address = hdr.ipv4.dst;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = address;
        hdr.udp.length = meta.reply_bytes;
        if (hdr.cache_metadata.isValid()) {
            hdr.udp.length = hdr.udp.length + CACHE_METADATA_BYTES;
        }
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
    }
}

/* Replies of the switch: which requests it answers itself, and what the replies contain. */
control Answer(inout headers_t hdr, inout metadata_t meta) {
    Reflect() reflect;

    /* A reply with cache metadata and without a value. */
    action with_metadata(bit<8> op, bit<32> version, bit<8> bitmap) {
        hdr.kv.op = op;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_CACHE_METADATA | (hdr.kv.flags & KEPT_FLAGS);
        hdr.kv.length = 0;
        hdr.cache_metadata.setValid();
        hdr.cache_metadata.generation = meta.generation;
        hdr.cache_metadata.version = version;
        hdr.cache_metadata.bitmap = bitmap;
    }

    action not_cached(bit<8> op) {
        hdr.kv.op = op;
        hdr.kv.status = STATUS_NOT_CACHED;
        hdr.kv.flags = hdr.kv.flags & KEPT_FLAGS;
        hdr.kv.length = 0;
        hdr.cache_metadata.setInvalid();
    }

    /* The metadata of the request stays: it identifies the UPDATE for its sender. */
    action to_update(bit<8> status) {
        hdr.kv.op = OP_UPDATE_REPLY;
        hdr.kv.status = status;
        hdr.kv.flags = FLAG_CACHE_METADATA | (hdr.kv.flags & KEPT_FLAGS);
        hdr.kv.length = 0;
        hdr.value[0].setInvalid();
        hdr.value[1].setInvalid();
        hdr.value[2].setInvalid();
        hdr.value[3].setInvalid();
        hdr.value[4].setInvalid();
        hdr.value[5].setInvalid();
        hdr.value[6].setInvalid();
        hdr.value[7].setInvalid();
    }

    apply {
        if (meta.readable) {
            hdr.kv.op = OP_GET_REPLY;
            hdr.kv.status = STATUS_OK;
            hdr.kv.flags = FLAG_CACHE_HIT | (hdr.kv.flags & KEPT_FLAGS);
            hdr.cache_metadata.setInvalid();
            meta.answered = true;
        } else if (hdr.kv.op[7:4] != OPS_OF_CLIENTS) {
            meta.answered = true;
            if (hdr.kv.op == OP_UPDATE) {
                if (meta.refreshed) {
                    to_update(STATUS_OK);
                } else if (meta.same_entry) {
                    to_update(STATUS_STALE);
                } else {
                    to_update(STATUS_NOT_CACHED);
                }
            } else if (hdr.kv.op == OP_INVALIDATE) {
                if (meta.cached) {
                    with_metadata(OP_INVALIDATE_REPLY, meta.version, meta.bitmap);
                } else {
                    not_cached(OP_INVALIDATE_REPLY);
                }
            } else if (hdr.kv.op == OP_STATS) {
                if (meta.cached) {
                    with_metadata(OP_STATS_REPLY, (bit<32>) meta.hits, 0);
                } else {
                    not_cached(OP_STATS_REPLY);
                }
            } else if (hdr.kv.op == OP_EPOCH) {
                hdr.kv.op = OP_EPOCH_REPLY;
                hdr.kv.status = STATUS_OK;
            } else {
                meta.answered = false; // an op of a later version: the switch forwards it
            }
        }
        if (meta.answered) {
            reflect.apply(hdr, meta);
        }
    }
}

/* Writes the cache metadata into a request that is forwarded to a server. */
control CacheMetadata(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.cached) {
            if (!hdr.cache_metadata.isValid()) {
                hdr.kv.flags = hdr.kv.flags | FLAG_CACHE_METADATA;
                hdr.ipv4.total_len = hdr.ipv4.total_len + CACHE_METADATA_BYTES;
                hdr.udp.length = hdr.udp.length + CACHE_METADATA_BYTES;
            }
            hdr.cache_metadata.setValid();
            hdr.cache_metadata.generation = meta.generation;
            hdr.cache_metadata.version = meta.version;
            hdr.cache_metadata.bitmap = meta.bitmap;
        } else if (hdr.cache_metadata.isValid()) {
            // No switch has written this metadata. The server must not use it.
            hdr.cache_metadata.setInvalid();
            hdr.kv.flags = hdr.kv.flags & ~FLAG_CACHE_METADATA;
            hdr.ipv4.total_len = hdr.ipv4.total_len - CACHE_METADATA_BYTES;
            hdr.udp.length = hdr.udp.length - CACHE_METADATA_BYTES;
        }
    }
}
