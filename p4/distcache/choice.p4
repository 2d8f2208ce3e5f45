/* The power of two choices: to which copy of its key the switch of clients sends a read. */

/* The loads of the switches of one layer, each from the last answer of its switch. The older a load
 * is, the less it counts: the switch may have begun a new epoch since, or may have failed. */
control KnownLoads(inout metadata_t meta, in bool notes, in bit<8> number, in bit<32> reads,
                   out bit<32> known) {
    register<bit<64>>(256) cells; // time (32) | reads (32)
    bit<64> cell = 0;
    bit<32> age = 0;

    apply {
        known = 0;
        if (notes) {
            cells.write((bit<32>) number, meta.now ++ reads);
        } else {
            cells.read(cell, (bit<32>) number);
            age = meta.now - cell[63:32];
            if (age < meta.half_life) {
                known = cell[31:0];
            } else if (age < (meta.half_life << 1)) {
                known = cell[31:0] >> 1;
            } else if (age < (meta.half_life << 2)) {
                known = cell[31:0] >> 2;
            }
        }
    }
}

/* The copy to which a read is sent: that of the switch with the smaller load of the two. Answers
 * bring the loads. */
control Choice(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    UpperCopy()  upper_copy;
    KnownLoads() upper_loads;
    KnownLoads() last_loads;
    bool    reads = false;
    bit<8>  last_number = 0;
    bit<32> upper = 0;
    bit<32> last = 0;

    /* half_life: milliseconds (of 1024 us) after which a load counts half. */
    action configure(bit<32> half_life) {
        meta.half_life = half_life;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0);
    }

    /* The switch of the last layer that a server is at. */
    action at(bit<8> number) {
        last_number = number;
    }

    table servers {
        key = { hdr.ipv4.dst: exact @name("address"); }
        actions = { at; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        meta.now = std.ingress_global_timestamp[41:10];
        reads = hdr.kv.op == OP_GET;
        settings.apply();
        if (reads) {
            upper_copy.apply(hdr, meta);
            servers.apply();
        } else {
            meta.upper_number = hdr.load.number;
            last_number = hdr.load.number;
        }
        if (reads || hdr.load.layer == 1) {
            upper_loads.apply(meta, !reads, meta.upper_number, hdr.load.reads, upper);
        }
        if (reads || hdr.load.layer == 0) {
            last_loads.apply(meta, !reads, last_number, hdr.load.reads, last);
        }
        meta.to_upper = reads && meta.upper_known
                        && (upper < last || (upper == last && hdr.kv.request[0:0] == 1));
    }
}
