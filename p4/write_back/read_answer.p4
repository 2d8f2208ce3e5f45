/* The reply to a read that the switch serves. */

control ReadAnswer(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;
    ReplyAddress() reply_address;

    apply {
        hdr.kv.op = OP_GET_REPLY;
        hdr.kv.status = STATUS_OK;
        if (meta.stored.deleted) {
            hdr.kv.status = STATUS_NOT_FOUND;
        }
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        stored_record.apply(hdr, meta);
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        if (meta.stored.dirty) {
            hdr.version_stamp.bits = BIT_DIRTY; // the server lacks it: the client keeps a copy
        }
        reply_address.apply(hdr, meta.reply_bytes
                                 + (bit<16>) meta.stored.chunks * CHUNK_BYTES);
    }
}
