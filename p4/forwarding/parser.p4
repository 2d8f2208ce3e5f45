/* Parses a frame up to its kv header. The value is payload. */

parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    KvParser()        kv;
    bit<16>           udp_port = 0;

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETKV_PORT: parse_kv;
            default: accept;
        }
    }

    state parse_kv {
        kv.apply(packet, hdr);
        transition accept;
    }
}

/* Emits the headers in wire order. */
control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
    }
}
