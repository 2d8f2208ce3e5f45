/* What every program does with every frame: parse it up to UDP, check it, route it, emit or drop
 * it. */

/* What parsers find wrong with a frame. FrameCheck drops frames with an error. */
error {
    NotVersion4,    // the EtherType is IPv4, and the version of the IP header is another
    LengthsDisagree // a length of IPv4, UDP or a later header contradicts the others
}

/* Parses a frame up to its UDP header. Later headers are parsed by the parser of the program.
 * udp_port: set to the destination port if the frame has a UDP header, else unchanged. */
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

/* Finds frames that are malformed or not IPv4. Its result replaces the results of other checks, so
 * it does not depend on them: a chip can run all checks at the same time.
 * is_netkv: the frame has a header of the program after UDP. */
control FrameCheck(in ipv4_t ipv4, in bool is_netkv,
                   inout metadata_t meta, in standard_metadata_t std) {
    bit<32> needed = 0;

    apply {
        if (std.parser_error != error.NoError || std.checksum_error == 1) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (!ipv4.isValid()) {
            meta.drop_reason = DROP_NOT_IPV4;
        } else if (is_netkv) {
            // The parser does not read the whole payload, so it does not notice a missing end.
            needed = ETHERNET_BYTES + (bit<32>) ipv4.total_len;
            if (std.ingress_port == CPU_PORT) {
                needed = needed + PACKET_OUT_BYTES;
            }
            if (std.packet_length < needed) {
                meta.drop_reason = DROP_MALFORMED;
            }
        }
    }
}

/* Maps the IPv4 destination of every frame to a switch port. */
control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port) {
        std.egress_spec = port;
    }

    action unknown() {
        meta.drop_reason = DROP_NO_ROUTE;
    }

    table ipv4 {
        key = { hdr.ipv4.dst: exact @name("dst"); }
        actions = { forward; unknown; }
        const default_action = unknown();
        size = 4096;
    }

    apply {
        ipv4.apply();
    }
}

/* Adds the packet-in header to a frame that leaves through the CPU port. */
control ToController(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        if (std.egress_spec == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
        }
    }
}

/* Drops a frame and counts the reason: index DROP_... of wire.p4. */
control Drop(inout metadata_t meta, inout standard_metadata_t std) {
    counter(DROP_REASONS, CounterType.packets) reasons;

    apply {
        reasons.count((bit<32>) meta.drop_reason);
        mark_to_drop(std);
    }
}

/* Emits the headers up to UDP. packet_out is never emitted: it is for the switch only. */
control TransportDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
    }
}
