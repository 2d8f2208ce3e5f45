/* Returns a frame to its sender: swaps the addresses and sets the lengths. Op and cache metadata
 * are those of the reply already. Both UDP ports are equal, so they stay. */

control Reflect(inout headers_t hdr, inout metadata_t meta) {
    bit<48> mac = 0;
    bit<32> address = 0;

    apply {
        mac = hdr.ethernet.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        address = hdr.ipv4.dst;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = address;
        hdr.udp.length = meta.reply_bytes;
        if (hdr.cache_metadata.isValid()) {
            hdr.udp.length = hdr.udp.length + CACHE_METADATA_BYTES;
        }
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
    }
}
