/* Writes what the switch knows about a cached key into the frame that goes on. */
#ifndef NETKV_MARK_P4
#define NETKV_MARK_P4

control Mark(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.cached) {
            if (!hdr.mark.isValid()) {
                hdr.kv.flags = hdr.kv.flags | FLAG_MARKED;
                hdr.ipv4.total_len = hdr.ipv4.total_len + MARK_BYTES;
                hdr.udp.length = hdr.udp.length + MARK_BYTES;
            }
            hdr.mark.setValid();
            hdr.mark.generation = meta.generation;
            hdr.mark.version = meta.version;
            hdr.mark.bitmap = meta.bitmap;
        } else if (hdr.mark.isValid()) {
            // A mark that no switch has written would mislead the server.
            hdr.mark.setInvalid();
            hdr.kv.flags = hdr.kv.flags & ~FLAG_MARKED;
            hdr.ipv4.total_len = hdr.ipv4.total_len - MARK_BYTES;
            hdr.udp.length = hdr.udp.length - MARK_BYTES;
        }
    }
}

#endif
