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
