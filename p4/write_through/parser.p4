/* Parses a frame up to its kv header, the cache metadata and the value of an UPDATE. Other values
 * are payload. */

error {
    CacheMetadataMissing
}

parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    KvParser()        kv;
    ValueParser()     value;
    bit<16>           udp_port = 0;
    bit<16>           further_bytes = 0; // parsed after the kv header

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETKV_PORT: parse_kv;
            default: accept;
        }
    }

    state parse_kv {
        kv.apply(packet, hdr);
        meta.reply_bytes = hdr.udp.length;
        transition select(hdr.kv.op, hdr.kv.flags) {
            (OP_GET, 0 &&& FLAG_CACHE_METADATA): accept; // most frames
            (OP_UPDATE, FLAG_CACHE_METADATA &&& FLAG_CACHE_METADATA): parse_update;
            (_, FLAG_CACHE_METADATA &&& FLAG_CACHE_METADATA): parse_cache_metadata;
            (OP_UPDATE, _): missing_cache_metadata;
            (OP_EPOCH, _): missing_cache_metadata;
            default: accept;
        }
    }

    state parse_cache_metadata {
        packet.extract(hdr.cache_metadata);
        further_bytes = CACHE_METADATA_BYTES;
        transition check_length;
    }

    state parse_update {
        packet.extract(hdr.cache_metadata);
        further_bytes = CACHE_METADATA_BYTES;
        value.apply(packet, hdr, further_bytes);
        transition check_length;
    }

    state check_length {
        verify(hdr.udp.length >= UDP_KV_BYTES + further_bytes, error.LengthsDisagree);
        meta.reply_bytes = hdr.udp.length - further_bytes;
        transition accept;
    }

    state missing_cache_metadata {
        verify(false, error.CacheMetadataMissing);
        transition accept;
    }
}
