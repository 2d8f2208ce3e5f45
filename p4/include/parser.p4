/* From the first byte of a frame to its kv (or netmc) header; what follows is payload.
 *
 * A program that keeps values in the switch says so before it includes this file:
 *
 * NETKV_CACHE: the mark is parsed too, and of an UPDATE the chunks of the value. Chunk k of the frame
 * belongs to the k-th set bit of the bitmap, so a chunk goes straight into the header of its value
 * array.
 *
 * NETKV_WRITE_BACK: stamp and place are parsed too, and the value of a record that an entry could
 * take. The parser says what part the frame has (meta.role), and which record it brings.
 *
 * NETKV_NETMC: the programs of port 5009. Frames of port 5008 are other traffic to them.
 *
 * Every way in which a frame can be wrong ends as a parser error; Check drops it.
 */
#ifndef NETKV_PARSER_P4
#define NETKV_PARSER_P4

error {
    NotVersion4,
    LengthsDisagree,
    UnknownFormat,
    MarkMissing,
    StampMissing,
    TooLarge
}

parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
#ifdef NETKV_WRITE_BACK
    bit<16> needed = UDP_KV_BYTES + STAMP_BYTES; // so many bytes of the datagram are read
#endif

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
#ifdef NETKV_NETMC
            NETMC_PORT: parse_netmc;
#else
            NETKV_PORT: parse_kv;
#endif
            default: accept;
        }
    }

#ifdef NETKV_NETMC
    state parse_netmc {
        packet.extract(hdr.netmc);
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES
               && hdr.udp.length >= UDP_NETMC_BYTES, error.LengthsDisagree);
        transition accept;
    }
#else

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
#elif defined(NETKV_WRITE_BACK)
        // Nobody marks these frames. A mark would lie where the stamp is looked for.
        transition select(hdr.kv.format, hdr.kv.op, hdr.kv.flags) {
            (FORMAT, OP_GET, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_read;
            (FORMAT, OP_PUT, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_write;
            (FORMAT, OP_DELETE, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_write;
            (FORMAT, OP_GET_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (FORMAT, OP_PUT_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (FORMAT, OP_DELETE_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (FORMAT, OPS_OF_ENTRIES &&& 0xF0, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_place;
            (FORMAT, OP_GET, _): missing_stamp;
            (FORMAT, OP_PUT, _): missing_stamp;
            (FORMAT, OP_DELETE, _): missing_stamp;
            (FORMAT, OPS_OF_ENTRIES &&& 0xF0, _): missing_stamp;
            (FORMAT, _, _): accept;
            default: unknown_format;
        }
    }

    state missing_stamp {
        verify(false, error.StampMissing);
        transition accept;
    }

    state parse_read {
        meta.role = ROLE_READ;
        transition parse_stamp;
    }

    state parse_write {
        meta.role = ROLE_WRITE;
        transition parse_stamp;
    }

    state parse_reply {
        meta.role = ROLE_REPLY;
        transition parse_stamp;
    }

    // Which record the frame brings, if an entry could take it.
    state parse_stamp {
        packet.extract(hdr.stamp);
        transition select(hdr.kv.op, hdr.kv.status, hdr.kv.length) {
            (OP_GET, _, _): all_there;
            (OP_PUT, _, 0 &&& 0xFF80): parse_value; // up to 127 bytes
            (OP_PUT, _, MAX_CACHED_BYTES): parse_value;
            (OP_DELETE, _, _): parse_tombstone;
            (OP_GET_REPLY, STATUS_OK, 0 &&& 0xFF80): parse_value;
            (OP_GET_REPLY, STATUS_OK, MAX_CACHED_BYTES): parse_value;
            (OP_GET_REPLY, STATUS_NOT_FOUND, _): parse_tombstone;
            default: all_there;
        }
    }

    state parse_place {
        meta.role = ROLE_CONTROL;
        packet.extract(hdr.stamp);
        packet.extract(hdr.place);
        needed = needed + PLACE_BYTES;
        transition select(hdr.kv.op, hdr.stamp.bits, hdr.kv.length) {
            (OP_FILL, BIT_DELETED &&& BIT_DELETED, _): parse_tombstone;
            (OP_FILL, _, 0 &&& 0xFF80): parse_value;
            (OP_FILL, _, MAX_CACHED_BYTES): parse_value;
            (OP_FILL, _, _): too_large;
            (OP_VALIDATE, _, _): all_there;
            (OP_EVICT, _, _): all_there;
            (OP_LOAD, _, _): all_there;
            (OP_RETIRE, _, _): all_there;
            (OP_COUNT, _, _): all_there;
            default: unknown_format; // these are for the switch or for nobody
        }
    }

    state too_large {
        verify(false, error.TooLarge);
        transition accept;
    }

    state parse_tombstone {
        meta.brought.fits = true;
        meta.brought.deleted = true;
        transition all_there;
    }

    state all_there {
        verify(hdr.udp.length >= needed, error.LengthsDisagree);
        transition accept;
    }

    state parse_value {
        meta.brought.fits = true;
        meta.brought.length = hdr.kv.length;
        meta.brought.chunks = (hdr.kv.length + (CHUNK_BYTES - 1))[11:4];
        needed = needed + ((hdr.kv.length + (CHUNK_BYTES - 1)) & ~(CHUNK_BYTES - 1));
        verify(hdr.udp.length >= needed, error.LengthsDisagree);
        transition select(meta.brought.chunks) { 0: accept; default: chunk0; }
    }
    state chunk0 {
        packet.extract(hdr.value[0]);
        transition select(meta.brought.chunks) { 1: accept; default: chunk1; }
    }
    state chunk1 {
        packet.extract(hdr.value[1]);
        transition select(meta.brought.chunks) { 2: accept; default: chunk2; }
    }
    state chunk2 {
        packet.extract(hdr.value[2]);
        transition select(meta.brought.chunks) { 3: accept; default: chunk3; }
    }
    state chunk3 {
        packet.extract(hdr.value[3]);
        transition select(meta.brought.chunks) { 4: accept; default: chunk4; }
    }
    state chunk4 {
        packet.extract(hdr.value[4]);
        transition select(meta.brought.chunks) { 5: accept; default: chunk5; }
    }
    state chunk5 {
        packet.extract(hdr.value[5]);
        transition select(meta.brought.chunks) { 6: accept; default: chunk6; }
    }
    state chunk6 {
        packet.extract(hdr.value[6]);
        transition select(meta.brought.chunks) { 7: accept; default: chunk7; }
    }
    state chunk7 {
        packet.extract(hdr.value[7]);
        transition accept;
    }
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
#endif
}

#endif
