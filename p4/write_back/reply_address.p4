/* Addresses and lengths of a reply. The destination of the frame is the owner of the key by now.
 * The reply comes from the service, to which the request was sent. Both UDP ports are equal, so
 * they stay. */

/* bytes: the UDP length of the reply. */
control ReplyAddress(inout headers_t hdr, in bit<16> bytes) {
    apply {
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = SERVICE_MAC;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = SERVICE_ADDRESS;
        hdr.ipv4.total_len = IPV4_BYTES + bytes;
        hdr.udp.length = bytes;
    }
}
