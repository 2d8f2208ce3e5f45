/* The reply to a write that the switch has applied. */

control WriteAnswer(inout headers_t hdr, in metadata_t meta) {
    RemoveValue()  remove_value;
    ReplyAddress() reply_address;

    apply {
        hdr.kv.op = meta.reply_op;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        hdr.version_stamp.incarnation = meta.incarnation;
        hdr.version_stamp.sequence = meta.sequence;
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        remove_value.apply(hdr);
        reply_address.apply(hdr, meta.reply_bytes);
    }
}
