/* Parser of write-through caches: frames with cache metadata, and the value of an UPDATE. */

/* Parses the value of an UPDATE. Chunk k of the frame belongs to the k-th set bit of the bitmap.
 * Each chunk is extracted to the header of its value array, so value[i] always belongs to array
 * i. bytes: increased by those of the value. */
parser ValueParser(packet_in packet, inout headers_t hdr, inout bit<16> bytes) {
    state start {
        transition select(hdr.cache_metadata.bitmap[0:0]) { 1: chunk0; default: after0; }
    }
    state chunk0 {
        packet.extract(hdr.value[0]);
        bytes = bytes + CHUNK_BYTES;
        transition after0;
    }
    state after0 {
        transition select(hdr.cache_metadata.bitmap[1:1]) { 1: chunk1; default: after1; }
    }
    state chunk1 {
        packet.extract(hdr.value[1]);
        bytes = bytes + CHUNK_BYTES;
        transition after1;
    }
    state after1 {
        transition select(hdr.cache_metadata.bitmap[2:2]) { 1: chunk2; default: after2; }
    }
    state chunk2 {
        packet.extract(hdr.value[2]);
        bytes = bytes + CHUNK_BYTES;
        transition after2;
    }
    state after2 {
        transition select(hdr.cache_metadata.bitmap[3:3]) { 1: chunk3; default: after3; }
    }
    state chunk3 {
        packet.extract(hdr.value[3]);
        bytes = bytes + CHUNK_BYTES;
        transition after3;
    }
    state after3 {
        transition select(hdr.cache_metadata.bitmap[4:4]) { 1: chunk4; default: after4; }
    }
    state chunk4 {
        packet.extract(hdr.value[4]);
        bytes = bytes + CHUNK_BYTES;
        transition after4;
    }
    state after4 {
        transition select(hdr.cache_metadata.bitmap[5:5]) { 1: chunk5; default: after5; }
    }
    state chunk5 {
        packet.extract(hdr.value[5]);
        bytes = bytes + CHUNK_BYTES;
        transition after5;
    }
    state after5 {
        transition select(hdr.cache_metadata.bitmap[6:6]) { 1: chunk6; default: after6; }
    }
    state chunk6 {
        packet.extract(hdr.value[6]);
        bytes = bytes + CHUNK_BYTES;
        transition after6;
    }
    state after6 {
        transition select(hdr.cache_metadata.bitmap[7:7]) { 1: chunk7; default: accept; }
    }
    state chunk7 {
        packet.extract(hdr.value[7]);
        bytes = bytes + CHUNK_BYTES;
        transition accept;
    }
}

error {
    CacheMetadataMissing // an UPDATE or EPOCH has no cache metadata
}

/* Parses a frame up to its kv header, the cache metadata and the value of an UPDATE. Other values
 * are payload. */
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
