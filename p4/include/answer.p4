/* Answers from the switch: which frames go back to where they came from, and with what in them. */
#ifndef NETKV_ANSWER_P4
#define NETKV_ANSWER_P4

/* Swaps the addresses and sets the lengths of a frame whose op and mark are those of the reply.
 * Both UDP ports are the same, so they stay. */
control TurnRound(inout headers_t hdr, inout metadata_t meta) {
    bit<48> mac = 0;
    bit<32> address = 0;

    apply {
        mac = hdr.ethernet.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        address = hdr.ipv4.dst;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = address;
        hdr.udp.length = UDP_KV_BYTES + meta.value_bytes;
        if (hdr.mark.isValid()) {
            hdr.udp.length = hdr.udp.length + MARK_BYTES;
        }
        hdr.udp.checksum = 0;
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
    }
}

control Answer(inout headers_t hdr, inout metadata_t meta) {
    TurnRound() turn_round;

    /* A reply with a mark, and no value. */
    action with_mark(bit<8> op, bit<32> version, bit<8> bitmap) {
        hdr.kv.op = op;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_MARKED;
        hdr.kv.length = 0;
        hdr.mark.setValid();
        hdr.mark.generation = meta.generation;
        hdr.mark.version = version;
        hdr.mark.bitmap = bitmap;
    }

    action not_cached(bit<8> op) {
        hdr.kv.op = op;
        hdr.kv.status = STATUS_NOT_CACHED;
        hdr.kv.flags = 0;
        hdr.kv.length = 0;
        hdr.mark.setInvalid();
    }

    /* The mark stays as it came: the sender knows by it what was answered. */
    action to_update(bit<8> status) {
        hdr.kv.op = OP_UPDATE_REPLY;
        hdr.kv.status = status;
        hdr.kv.flags = FLAG_MARKED;
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
            hdr.kv.flags = FLAG_CACHE_HIT;
            hdr.mark.setInvalid();
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
                    with_mark(OP_INVALIDATE_REPLY, meta.version, meta.bitmap);
                } else {
                    not_cached(OP_INVALIDATE_REPLY);
                }
            } else if (hdr.kv.op == OP_STATS) {
                if (meta.cached) {
                    with_mark(OP_STATS_REPLY, (bit<32>) meta.hits, 0);
                } else {
                    not_cached(OP_STATS_REPLY);
                }
            } else if (hdr.kv.op == OP_EPOCH) {
                hdr.kv.op = OP_EPOCH_REPLY;
                hdr.kv.status = STATUS_OK;
            } else {
                meta.answered = false; // an op of a later version: not for this switch
            }
        }
        if (meta.answered) {
            turn_round.apply(hdr, meta);
        }
    }
}

#endif
