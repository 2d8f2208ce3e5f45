/* What the server must know of a request that goes on to it: the stamp is the switch's from here. */
#ifndef NETKV_ONWARD_P4
#define NETKV_ONWARD_P4

control Onward(inout headers_t hdr, in metadata_t meta) {
    HeldRecord() held_record;
    bit<16>      value_bytes = 0;

    apply {
        hdr.stamp.generation = 0;
        hdr.stamp.bits = 0;
        if (meta.hot) {
            hdr.stamp.bits = BIT_HOT;
        }
        if (meta.role == ROLE_WRITE) {
            if (hdr.stamp.life != 0 && !meta.this_life) {
                hdr.stamp.bits = hdr.stamp.bits | BIT_PAST;
            }
            hdr.stamp.life = meta.life;
            hdr.stamp.number = meta.number;
        } else {
            if (meta.validity == VALID) {
                hdr.stamp.generation = meta.generation; // the reply may refresh the entry
            }
            if (meta.loads) {
                // The record may have been lost on its way from the switch to the server.
                hdr.stamp.bits = hdr.stamp.bits | BIT_EMBEDDED;
                if (meta.held.deleted) {
                    hdr.stamp.bits = hdr.stamp.bits | BIT_DELETED;
                }
                held_record.apply(hdr, meta);
                value_bytes = (bit<16>) meta.held.chunks * CHUNK_BYTES;
                hdr.udp.length = hdr.udp.length + value_bytes;
                hdr.ipv4.total_len = hdr.ipv4.total_len + value_bytes;
            }
        }
    }
}

#endif
