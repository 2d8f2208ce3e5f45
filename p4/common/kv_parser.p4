/* Parses the kv header and checks the lengths of the frame. */

error {
    UnknownFormat
}

parser KvParser(packet_in packet, inout headers_t hdr) {
    state start {
        packet.extract(hdr.kv);
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES && hdr.udp.length >= UDP_KV_BYTES,
               error.LengthsDisagree);
        verify(hdr.kv.format == FORMAT, error.UnknownFormat);
        transition accept;
    }
}
