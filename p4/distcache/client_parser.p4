/* Parser and deparser of the switch of clients. */

/* Parses a frame up to its kv header, the cache metadata and the load. The value is payload. */
parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    KvParser()        kv;
    bit<16>           udp_port = 0;
    bit<16>           needed = UDP_KV_BYTES; // of the UDP length

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETKV_PORT: parse_kv;
            default: accept;
        }
    }

    state parse_kv {
        kv.apply(packet, hdr);
        transition select(hdr.kv.flags) {
            FLAG_CACHE_METADATA &&& FLAG_CACHE_METADATA: parse_cache_metadata;
            FLAG_LOAD &&& FLAG_LOAD: parse_load;
            default: accept;
        }
    }

    state parse_cache_metadata {
        packet.extract(hdr.cache_metadata);
        needed = needed + CACHE_METADATA_BYTES;
        transition select(hdr.kv.flags) {
            FLAG_LOAD &&& FLAG_LOAD: parse_load;
            default: check_length;
        }
    }

    state parse_load {
        packet.extract(hdr.load);
        needed = needed + LOAD_BYTES;
        transition check_length;
    }

    state check_length {
        verify(hdr.udp.length >= needed, error.LengthsDisagree);
        transition accept;
    }
}

/* Emits the headers in wire order. */
control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.cache_metadata);
        packet.emit(hdr.load);
    }
}
