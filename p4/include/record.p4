/* The record that an entry holds, as the frame that leaves tells it. */
#ifndef NETKV_RECORD_P4
#define NETKV_RECORD_P4

/* Its chunks are in their headers already. */
control HeldRecord(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.kv.length = meta.held.length;
        hdr.stamp.number = meta.held.number;
        hdr.stamp.life = 0; // from before this life: older than all
        if (meta.held.number != 0) {
            hdr.stamp.life = meta.held.life;
        }
    }
}

/* The same with all that the switch knows about it, for the controller. */
control WholeRecord(inout headers_t hdr, in metadata_t meta) {
    HeldRecord() held_record;

    apply {
        held_record.apply(hdr, meta);
        hdr.stamp.generation = meta.generation;
        hdr.stamp.bits = 0;
        if (meta.held.deleted) { hdr.stamp.bits = hdr.stamp.bits | BIT_DELETED; }
        if (meta.held.latest) { hdr.stamp.bits = hdr.stamp.bits | BIT_LATEST; }
        if (meta.held.dirty) { hdr.stamp.bits = hdr.stamp.bits | BIT_DIRTY; }
        if (meta.overwritten) { hdr.stamp.bits = hdr.stamp.bits | BIT_OVERWRITTEN; }
        if (meta.serving) { hdr.stamp.bits = hdr.stamp.bits | BIT_VALID; }
    }
}

control NoValue(inout headers_t hdr) {
    apply {
        hdr.kv.length = 0;
        hdr.value[0].setInvalid();
        hdr.value[1].setInvalid();
        hdr.value[2].setInvalid();
        hdr.value[3].setInvalid();
        hdr.value[4].setInvalid();
        hdr.value[5].setInvalid();
        hdr.value[6].setInvalid();
        hdr.value[7].setInvalid();
    }
}

#endif
