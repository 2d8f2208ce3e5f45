/* Answers of a write-back cache: to reads and writes that it serves itself, and to the controller. */
#ifndef NETKV_WRITE_BACK_ANSWER_P4
#define NETKV_WRITE_BACK_ANSWER_P4

/* The answer to a write that the switch has applied. */
control WriteAnswer(inout headers_t hdr, in metadata_t meta) {
    NoValue()     no_value;
    FromService() from_service;

    apply {
        hdr.kv.op = meta.answer_op;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        hdr.stamp.life = meta.life;
        hdr.stamp.number = meta.number;
        hdr.stamp.generation = 0;
        hdr.stamp.bits = 0;
        no_value.apply(hdr);
        from_service.apply(hdr, STAMP_BYTES);
    }
}

control ReadAnswer(inout headers_t hdr, in metadata_t meta) {
    HeldRecord()  held_record;
    FromService() from_service;

    apply {
        hdr.kv.op = OP_GET_REPLY;
        hdr.kv.status = STATUS_OK;
        if (meta.held.deleted) {
            hdr.kv.status = STATUS_NOT_FOUND;
        }
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        held_record.apply(hdr, meta);
        hdr.stamp.generation = 0;
        hdr.stamp.bits = 0;
        if (meta.held.dirty) {
            hdr.stamp.bits = BIT_DIRTY; // nobody else has it: the client keeps it, too
        }
        from_service.apply(hdr, STAMP_BYTES + (bit<16>) meta.held.chunks * CHUNK_BYTES);
    }
}

control ControlAnswer(inout headers_t hdr, in metadata_t meta) {
    NoValue()     no_value;
    WholeRecord() whole_record;
    FromService() from_service;
    bit<16>       bytes = 0;

    apply {
        bytes = STAMP_BYTES + PLACE_BYTES;
        hdr.kv.status = STATUS_OK;
        if (!meta.ours && !meta.filled) {
            hdr.kv.status = STATUS_STALE;
        }
        hdr.kv.flags = FLAG_STAMPED;
        if (meta.loads) {
            whole_record.apply(hdr, meta);
            bytes = bytes + (bit<16>) meta.held.chunks * CHUNK_BYTES;
        } else {
            no_value.apply(hdr);
            if (meta.ours && hdr.kv.op == OP_COUNT) {
                hdr.place.number = (bit<32>) meta.count;
            }
        }
        hdr.kv.op = meta.answer_op;
        from_service.apply(hdr, bytes);
    }
}

#endif
