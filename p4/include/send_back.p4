/* What leaves egress by another port than it was sent to. An egress pipeline cannot change the port,
 * so a clone of the frame goes there, and the frame itself is dropped (FarReach, section V-A). The
 * clone has the headers as they are now; its own pass has nothing left to do. */
#ifndef NETKV_SEND_BACK_P4
#define NETKV_SEND_BACK_P4

/* A clone session has the number of the port that it leads to. */
control SendBack(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.answer_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.arrival;
        } else {
            hdr.packet_in.setInvalid();
        }
        clone(CloneType.E2E, (bit<32>) meta.answer_port);
        mark_to_drop(std);
    }
}

/* Addresses and lengths of an answer with `bytes` behind the kv header. The destination is the
 * owner's by now: the answer comes from the service, as the request went to it. Both UDP ports are
 * the same, so they stay. */
control FromService(inout headers_t hdr, in bit<16> bytes) {
    apply {
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = SERVICE_MAC;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = SERVICE_ADDRESS;
        hdr.ipv4.total_len = IPV4_BYTES + UDP_KV_BYTES + bytes;
        hdr.udp.length = UDP_KV_BYTES + bytes;
        hdr.udp.checksum = 0;
    }
}

#endif
