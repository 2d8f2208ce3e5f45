/* Parses a frame up to its netmc header. Frames of other ports, also those of the kv schemes, are
 * only routed. */

parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    bit<16>           udp_port = 0;

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETMC_PORT: parse_netmc;
            default: accept;
        }
    }

    state parse_netmc {
        packet.extract(hdr.netmc);
        meta.received = std.instance_type != RECIRCULATED;
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES
               && hdr.udp.length >= UDP_NETMC_BYTES, error.LengthsDisagree);
        transition accept;
    }
}
