/* Sub-requests (Algorithm 2, lines 1 to 4 and 9 to 13). The replication engine makes the clone: of a
 * server's multicast group one copy goes to the server, the other to the recirculation port. */
#ifndef NETKV_SUB_REQUEST_P4
#define NETKV_SUB_REQUEST_P4

/* A clone is about the next group. */
control NextGroup(inout headers_t hdr) {
    apply {
        if (hdr.netmc.clo == 1) {
            hdr.netmc.oid = hdr.netmc.oid + 1;
            hdr.netmc.startidx = hdr.netmc.startidx + hdr.netmc.numkey;
        }
    }
}

control SubRequest(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.netmc.keyidx > 0) {
            hdr.netmc.clo = 1; // before it is cloned: the sub-request has it, too
            meta.cloned = true;
            std.mcast_grp = meta.group;
        } else {
            std.egress_spec = meta.port;
        }
    }
}

/* In egress. Each time around KEYIDX has lost a 1 at least, so there is an end to it. */
control Recirculation(in metadata_t meta, in standard_metadata_t std) {
    apply {
        if (meta.cloned && std.egress_port == LOOP_PORT) {
            recirculate_preserving_field_list(0); // none: all that counts is in the header
        }
    }
}

#endif
