/* Decides whether a frame may enter the pipeline at all. */
#ifndef NETKV_CHECK_P4
#define NETKV_CHECK_P4

control Check(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<32> needed = 0;

    apply {
        if (std.parser_error != error.NoError || std.checksum_error == 1) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (!hdr.ipv4.isValid()) {
            meta.drop_reason = DROP_NOT_IPV4;
        } else if (hdr.NETKV_HEADER.isValid()) {
            // Values are payload here, so the parser cannot miss its end: the lengths must tell.
            needed = ETHERNET_BYTES + (bit<32>) hdr.ipv4.total_len;
            if (hdr.packet_out.isValid()) {
                needed = needed + PACKET_OUT_BYTES;
            }
            if (std.packet_length < needed) {
                meta.drop_reason = DROP_MALFORMED;
#ifndef NETKV_NETMC
            } else if (hdr.kv.op[7:4] == OPS_OF_STATISTICS && hdr.kv.op[0:0] == 0
                       && std.ingress_port != CPU_PORT) {
                // Else any host could clear the statistics.
                meta.drop_reason = DROP_FORBIDDEN;
#endif
#ifdef NETKV_WRITE_BACK
            } else if ((hdr.kv.op & 0xF0) == OPS_OF_ENTRIES && std.ingress_port != CPU_PORT) {
                // Else any host could take entries away, and tell the controller what it likes.
                meta.drop_reason = DROP_FORBIDDEN;
            } else if (meta.role == ROLE_CONTROL && (bit<32>) hdr.place.entry >= CACHE_ENTRIES) {
                meta.drop_reason = DROP_MALFORMED;
#endif
            }
        }
    }
}

#endif
