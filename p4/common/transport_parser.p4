/* Parses a frame up to its UDP header. Later headers are parsed by the parser of the program.
 *
 * Every error of a frame becomes a parser error. FrameCheck drops such frames. */

error {
    NotVersion4,
    LengthsDisagree
}

/* udp_port: set to the destination port if the frame has a UDP header, else unchanged. */
parser TransportParser(packet_in packet,
                       inout headers_t hdr,
                       in standard_metadata_t std,
                       inout bit<16> udp_port) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.egress_port) {
            0: parse_ethernet;
            default: accept; // the frame leaves unchanged, so it is not parsed
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4, error.NotVersion4);
        // Frames of netkv have no options and are not fragmented. Other frames are only routed.
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0 &&& 0x3FFF, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        udp_port = hdr.udp.dst_port;
        transition accept;
    }
}
