/* Snapshots (FarReach, section III-D): the snapshot point in ingress, and the report of each record
 * as it was at that point in egress. */

/* The ingress pipeline of a port. */
control IngressPipeline(inout metadata_t meta, in standard_metadata_t std) {
    action of_pipeline(bit<8> pipeline) {
        meta.pipeline = pipeline;
    }

    table ports {
        key = { std.ingress_port: exact @name("port"); }
        actions = { of_pipeline; }
        const default_action = of_pipeline(0);
        size = 512;
    }

    apply {
        if (std.instance_type != RECIRCULATED) { // the loop port is in pipeline 0
            ports.apply();
        }
    }
}

/* Whether this ingress pipeline has passed the snapshot point (FarReach, section III-D).
 *
 * The snapshot point must be the same for all pipelines. The controller switches the pipelines one
 * after another. Meanwhile the other pipelines redirect their writes through pipeline 0. Replies to
 * reads change entries too, so they are redirected as well. */
control Snapshot(inout metadata_t meta, in standard_metadata_t std) {
    action redirect() {
        meta.redirected = true;
    }

    action taking(bit<32> number) {
        meta.snapshot = number;
    }

    action idle() { }

    table snapshot {
        key = { meta.pipeline: exact @name("pipeline"); }
        actions = { redirect; taking; idle; }
        const default_action = idle();
        size = 16;
    }

    apply {
        snapshot.apply();
        if (std.instance_type == RECIRCULATED) {
            meta.redirected = false; // a frame is redirected once at most
        }
    }
}

/* The last snapshot for which an entry reported its original record. The first write of an entry
 * after the snapshot point sends the record as it was at that point to the controller. */
control ReportedSnapshot(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        if (meta.filled) {
            cells.write(meta.entry, 0);
        } else if (meta.role == ROLE_CONTROL) {
            if (cell != 0 && cell == hdr.slot.number) {
                meta.further_bits = BIT_OVERWRITTEN;
            }
        } else if (cell != meta.snapshot) {
            meta.original = meta.applied;
            meta.refreshes = false; // only a write may change a record that belongs to the snapshot
            if (meta.applied) {
                cells.write(meta.entry, meta.snapshot);
            }
        }
    }
}

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

/* The pass of one of the clones that Original starts. */
control OriginalClone(inout headers_t hdr, inout metadata_t meta) {
    WriteAnswer() write_answer;

    apply {
        meta.clones_left = meta.clones_left - 1;
        if (meta.clones_left == 0) {
            hdr.packet_in.setInvalid();
            hdr.slot.setInvalid();
            write_answer.apply(hdr, meta);
        } else if (meta.clones_left == 1) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) meta.arrival_port, Kept.ORIGINAL);
        } else {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) CPU_PORT, Kept.ORIGINAL);
        }
    }
}
