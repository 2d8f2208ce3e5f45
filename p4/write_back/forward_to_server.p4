/* Writes the version stamp of a request that the switch forwards to a server. */

control ForwardToServer(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;
    bit<16>        value_bytes = 0;

    apply {
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        if (meta.hot) {
            hdr.version_stamp.bits = BIT_HOT;
        }
        if (meta.role == ROLE_WRITE) {
            if (meta.past) {
                hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_PAST;
            }
            hdr.version_stamp.incarnation = meta.incarnation;
            hdr.version_stamp.sequence = meta.sequence;
        } else {
            if (meta.validity == VALID) {
                hdr.version_stamp.generation = meta.generation; // the reply may refresh the entry
            }
            if (meta.loads) {
                // The record may have been lost on its way from the switch to the server.
                hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_EMBEDDED;
                if (meta.stored.deleted) {
                    hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DELETED;
                }
                stored_record.apply(hdr, meta);
                value_bytes = (bit<16>) meta.stored.chunks * CHUNK_BYTES;
                hdr.udp.length = hdr.udp.length + value_bytes;
                hdr.ipv4.total_len = hdr.ipv4.total_len + value_bytes;
            }
        }
    }
}
