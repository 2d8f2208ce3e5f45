/* From the first byte of a frame to its kv header; what follows is payload.
 *
 * A program that keeps values in the switch defines NETKV_CACHE before it includes this file: then
 * the mark is parsed too, and of an UPDATE the chunks of the value. Chunk k of the frame belongs to
 * the k-th set bit of the bitmap, so a chunk goes straight into the header of its value array.
 *
 * Every way in which a frame can be wrong ends as a parser error; Check drops it.
 */
#ifndef NETKV_PARSER_P4
#define NETKV_PARSER_P4

error {
    NotVersion4,
    LengthsDisagree,
    UnknownFormat,
    MarkMissing
}

parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
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
            default: accept; // leaves as it is: no need to understand it
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
        // Options and fragments are never netkv's: routed, not understood.
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0 &&& 0x3FFF, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            NETKV_PORT: parse_kv;
            default: accept;
        }
    }

    state parse_kv {
        packet.extract(hdr.kv);
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES && hdr.udp.length >= UDP_KV_BYTES,
               error.LengthsDisagree);
#ifdef NETKV_CACHE
        transition select(hdr.kv.format, hdr.kv.op, hdr.kv.flags) {
            (FORMAT, OP_GET, 0 &&& FLAG_MARKED): accept; // most frames
            (FORMAT, OP_UPDATE, FLAG_MARKED &&& FLAG_MARKED): parse_update;
            (FORMAT, _, FLAG_MARKED &&& FLAG_MARKED): parse_mark;
            (FORMAT, OP_UPDATE, _): missing_mark;
            (FORMAT, OP_EPOCH, _): missing_mark;
            (FORMAT, _, _): accept;
            default: unknown_format;
        }
    }

    state parse_mark {
        packet.extract(hdr.mark);
        transition accept;
    }

    state missing_mark {
        verify(false, error.MarkMissing);
        transition accept;
    }

    state parse_update {
        packet.extract(hdr.mark);
        transition select(hdr.mark.bitmap[0:0]) { 1: chunk0; default: after0; }
    }
    state chunk0 { packet.extract(hdr.value[0]); transition after0; }
    state after0 { transition select(hdr.mark.bitmap[1:1]) { 1: chunk1; default: after1; } }
    state chunk1 { packet.extract(hdr.value[1]); transition after1; }
    state after1 { transition select(hdr.mark.bitmap[2:2]) { 1: chunk2; default: after2; } }
    state chunk2 { packet.extract(hdr.value[2]); transition after2; }
    state after2 { transition select(hdr.mark.bitmap[3:3]) { 1: chunk3; default: after3; } }
    state chunk3 { packet.extract(hdr.value[3]); transition after3; }
    state after3 { transition select(hdr.mark.bitmap[4:4]) { 1: chunk4; default: after4; } }
    state chunk4 { packet.extract(hdr.value[4]); transition after4; }
    state after4 { transition select(hdr.mark.bitmap[5:5]) { 1: chunk5; default: after5; } }
    state chunk5 { packet.extract(hdr.value[5]); transition after5; }
    state after5 { transition select(hdr.mark.bitmap[6:6]) { 1: chunk6; default: after6; } }
    state chunk6 { packet.extract(hdr.value[6]); transition after6; }
    state after6 { transition select(hdr.mark.bitmap[7:7]) { 1: chunk7; default: accept; } }
    state chunk7 { packet.extract(hdr.value[7]); transition accept; }
#else
        transition select(hdr.kv.format) {
            FORMAT: accept;
            default: unknown_format;
        }
    }
#endif

    state unknown_format {
        verify(false, error.UnknownFormat);
        transition accept;
    }
}

#endif
