/* Reports the record of an entry as it was at the snapshot point, on the first write after that
 * point. ORIGINAL is sent three times to the controller, because frames get lost. The reply to the
 * write follows.
 *
 * The four frames are a chain of clones: each one leaves and is cloned again. The reply is the
 * last. As the first it would have no room for the record: a clone has only the headers with which
 * the frame before it leaves, and metadata that is copied. */

const bit<8> CLONES_OF_FIRST_WRITE = 4;

/* Turns a write into the first ORIGINAL. */
control Original(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    RecordReport() record_report;

    apply {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.arrival_port;
        hdr.ethernet.dst = CONTROLLER_MAC;
        hdr.ipv4.dst = CONTROLLER_ADDRESS;
        hdr.kv.op = OP_ORIGINAL;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_STAMPED;
        record_report.apply(hdr, meta);
        if (meta.stored.chunks < 1) { hdr.value[0].setInvalid(); } // of the longer new value
        if (meta.stored.chunks < 2) { hdr.value[1].setInvalid(); }
        if (meta.stored.chunks < 3) { hdr.value[2].setInvalid(); }
        if (meta.stored.chunks < 4) { hdr.value[3].setInvalid(); }
        if (meta.stored.chunks < 5) { hdr.value[4].setInvalid(); }
        if (meta.stored.chunks < 6) { hdr.value[5].setInvalid(); }
        if (meta.stored.chunks < 7) { hdr.value[6].setInvalid(); }
        if (meta.stored.chunks < 8) { hdr.value[7].setInvalid(); }
        hdr.slot.setValid();
        hdr.slot.entry = meta.entry[15:0];
        hdr.slot.number = meta.snapshot;
        hdr.udp.length = meta.reply_bytes + SLOT_BYTES
                         + (bit<16>) meta.stored.chunks * CHUNK_BYTES;
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
        meta.clones_left = CLONES_OF_FIRST_WRITE;
        clone_preserving_field_list(CloneType.E2E, (bit<32>) CPU_PORT, Kept.ORIGINAL);
        mark_to_drop(std);
    }
}
