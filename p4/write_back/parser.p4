/* Parser and deparser of write-back caches: frames with a version stamp, a slot and a value. */

/* Parses a value of up to 128 bytes: as many chunks as its length needs.
 * header_bytes: from the UDP header to the value. */
parser ValueParser(packet_in packet, inout headers_t hdr, inout metadata_t meta,
                   in bit<16> header_bytes) {
    bit<16> padded = 0; // length of the value in whole chunks

    state start {
        meta.incoming.fits = true;
        meta.incoming.length = hdr.kv.length;
        padded = hdr.kv.length + (CHUNK_BYTES - 1);
        meta.incoming.chunks = padded[11:4];
        padded = padded & ~(CHUNK_BYTES - 1);
        verify(hdr.udp.length >= header_bytes + padded, error.LengthsDisagree);
        meta.reply_bytes = hdr.udp.length - padded;
        transition select(meta.incoming.chunks) { 0: accept; default: chunk0; }
    }
    state chunk0 {
        packet.extract(hdr.value[0]);
        transition select(meta.incoming.chunks) { 1: accept; default: chunk1; }
    }
    state chunk1 {
        packet.extract(hdr.value[1]);
        transition select(meta.incoming.chunks) { 2: accept; default: chunk2; }
    }
    state chunk2 {
        packet.extract(hdr.value[2]);
        transition select(meta.incoming.chunks) { 3: accept; default: chunk3; }
    }
    state chunk3 {
        packet.extract(hdr.value[3]);
        transition select(meta.incoming.chunks) { 4: accept; default: chunk4; }
    }
    state chunk4 {
        packet.extract(hdr.value[4]);
        transition select(meta.incoming.chunks) { 5: accept; default: chunk5; }
    }
    state chunk5 {
        packet.extract(hdr.value[5]);
        transition select(meta.incoming.chunks) { 6: accept; default: chunk6; }
    }
    state chunk6 {
        packet.extract(hdr.value[6]);
        transition select(meta.incoming.chunks) { 7: accept; default: chunk7; }
    }
    state chunk7 {
        packet.extract(hdr.value[7]);
        transition accept;
    }
}

error {
    VersionStampMissing, // a request, or a message about an entry, has no version stamp
    UnknownOperation,    // a message about an entry has an op of no such message
    TooLarge             // a FILL has a value that fits no entry
}

/* Parses a frame up to its version stamp, slot and value. Sets the role of the frame and describes
 * the record that it carries (meta.incoming). */
parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    KvParser()        kv;
    ValueParser()     value;
    bit<16>           udp_port = 0;
    bit<16>           header_bytes = UDP_KV_BYTES + VERSION_STAMP_BYTES; // UDP header to value

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETKV_PORT: parse_kv;
            default: accept;
        }
    }

    state parse_kv {
        kv.apply(packet, hdr);
        // A frame with cache metadata is malformed: the metadata would stand in the place of the
        // version stamp.
        transition select(hdr.kv.op, hdr.kv.flags) {
            (OP_GET, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_read;
            (OP_PUT, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_write;
            (OP_DELETE, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_write;
            (OP_GET_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (OP_PUT_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (OP_DELETE_REPLY, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_reply;
            (OPS_OF_ENTRIES &&& 0xF0, FLAG_STAMPED &&& FLAGS_OF_LAYOUT): parse_control;
            (OP_GET, _): missing_version_stamp;
            (OP_PUT, _): missing_version_stamp;
            (OP_DELETE, _): missing_version_stamp;
            (OPS_OF_ENTRIES &&& 0xF0, _): missing_version_stamp;
            default: accept;
        }
    }

    state missing_version_stamp {
        verify(false, error.VersionStampMissing);
        transition accept;
    }

    state parse_read {
        meta.role = ROLE_READ;
        transition parse_version_stamp;
    }

    state parse_write {
        meta.role = ROLE_WRITE;
        transition parse_version_stamp;
    }

    state parse_reply {
        meta.role = ROLE_REPLY;
        transition parse_version_stamp;
    }

    state parse_version_stamp {
        packet.extract(hdr.version_stamp);
        transition select(hdr.kv.op, hdr.kv.status, hdr.kv.length) {
            (OP_GET, _, _): without_value;
            (OP_PUT, _, 0 &&& 0xFF80): parse_value; // up to 127 bytes
            (OP_PUT, _, MAX_CACHED_BYTES): parse_value;
            (OP_DELETE, _, _): parse_tombstone;
            (OP_GET_REPLY, STATUS_OK, 0 &&& 0xFF80): parse_value;
            (OP_GET_REPLY, STATUS_OK, MAX_CACHED_BYTES): parse_value;
            (OP_GET_REPLY, STATUS_NOT_FOUND, _): parse_tombstone;
            default: without_value;
        }
    }

    state parse_control {
        meta.role = ROLE_CONTROL;
        packet.extract(hdr.version_stamp);
        packet.extract(hdr.slot);
        header_bytes = header_bytes + SLOT_BYTES;
        transition select(hdr.kv.op, hdr.version_stamp.bits, hdr.kv.length) {
            (OP_FILL, BIT_DELETED &&& BIT_DELETED, _): parse_tombstone;
            (OP_FILL, _, 0 &&& 0xFF80): parse_value;
            (OP_FILL, _, MAX_CACHED_BYTES): parse_value;
            (OP_FILL, _, _): too_large;
            (OP_VALIDATE, _, _): without_value;
            (OP_EVICT, _, _): without_value;
            (OP_LOAD, _, _): without_value;
            (OP_RETIRE, _, _): without_value;
            (OP_COUNT, _, _): without_value;
            default: unknown_operation;
        }
    }

    state parse_value {
        value.apply(packet, hdr, meta, header_bytes);
        transition accept;
    }

    state parse_tombstone {
        meta.incoming.fits = true;
        meta.incoming.deleted = true;
        transition without_value;
    }

    state without_value {
        verify(hdr.udp.length >= header_bytes, error.LengthsDisagree);
        meta.reply_bytes = hdr.udp.length;
        transition accept;
    }

    state too_large {
        verify(false, error.TooLarge);
        transition accept;
    }

    state unknown_operation {
        verify(false, error.UnknownOperation);
        transition accept;
    }
}

/* Emits the headers in wire order. */
control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.version_stamp);
        packet.emit(hdr.slot);
        packet.emit(hdr.value);
    }
}
