/* Removes what only switches write: the client gets no load, and no switch takes a client's cache
 * metadata for its own. */

control SwitchHeaders(inout headers_t hdr) {
    bit<16> bytes = 0;

    apply {
        bytes = 0;
        if (hdr.cache_metadata.isValid()) {
            hdr.cache_metadata.setInvalid();
            bytes = bytes + CACHE_METADATA_BYTES;
        }
        if (hdr.load.isValid()) {
            hdr.load.setInvalid();
            bytes = bytes + LOAD_BYTES;
        }
        hdr.kv.flags = hdr.kv.flags & ~(FLAG_CACHE_METADATA | FLAG_UPPER | FLAG_LOAD);
        hdr.ipv4.total_len = hdr.ipv4.total_len - bytes;
        hdr.udp.length = hdr.udp.length - bytes;
    }
}
