/* An entry's record as it was at the snapshot point, on its first write after it: three times to the
 * controller, because frames get lost. The reply to the write comes behind them, in a chain of
 * clones: each leaves as what it is, and is cloned on. (The other way round the record would have to
 * travel in metadata: a clone has only the headers with which the one before it leaves.) */
#ifndef NETKV_ORIGINALS_P4
#define NETKV_ORIGINALS_P4

const bit<8> CLONES_OF_FIRST_WRITE = 4;

/* Makes a write the first ORIGINAL. */
control Original(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    WholeRecord() whole_record;

    apply {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.arrival;
        hdr.ethernet.dst = CONTROLLER_MAC;
        hdr.ipv4.dst = CONTROLLER_ADDRESS;
        hdr.kv.op = OP_ORIGINAL;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_STAMPED;
        whole_record.apply(hdr, meta);
        hdr.place.setValid();
        hdr.place.entry = meta.entry[15:0];
        hdr.place.number = meta.snapshot;
        hdr.udp.length = UDP_KV_BYTES + STAMP_BYTES + PLACE_BYTES
                         + (bit<16>) meta.held.chunks * CHUNK_BYTES;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
        meta.clones = CLONES_OF_FIRST_WRITE;
        clone_preserving_field_list(CloneType.E2E, (bit<32>) CPU_PORT, Kept.ORIGINAL);
        mark_to_drop(std);
    }
}

/* The pass of one of the clones. */
control OriginalsClone(inout headers_t hdr, inout metadata_t meta) {
    WriteAnswer() answer;

    apply {
        meta.clones = meta.clones - 1;
        if (meta.clones == 0) {
            hdr.packet_in.setInvalid();
            hdr.place.setInvalid();
            answer.apply(hdr, meta);
        } else if (meta.clones == 1) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) meta.arrival, Kept.ORIGINAL);
        } else {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) CPU_PORT, Kept.ORIGINAL);
        }
    }
}

#endif
