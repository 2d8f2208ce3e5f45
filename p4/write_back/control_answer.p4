/* The reply to a message of the controller about an entry. */

control ControlAnswer(inout headers_t hdr, in metadata_t meta) {
    RemoveValue()  remove_value;
    RecordReport() record_report;
    ReplyAddress() reply_address;
    bit<16>        bytes = 0;

    apply {
        bytes = meta.reply_bytes;
        hdr.kv.status = STATUS_OK;
        if (!meta.same_generation && !meta.filled) {
            hdr.kv.status = STATUS_STALE;
        }
        hdr.kv.flags = FLAG_STAMPED;
        if (meta.loads) {
            record_report.apply(hdr, meta);
            bytes = bytes + (bit<16>) meta.stored.chunks * CHUNK_BYTES;
        } else {
            remove_value.apply(hdr);
            if (meta.same_generation && hdr.kv.op == OP_COUNT) {
                hdr.slot.number = (bit<32>) meta.count;
            }
        }
        hdr.kv.op = meta.reply_op;
        reply_address.apply(hdr, bytes);
    }
}
