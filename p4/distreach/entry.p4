/* The effect of a frame on the record of its entry, and what the frame gets from the entry. */

control Entry(inout headers_t hdr, inout metadata_t meta) {
    MaxSequence()    max_sequence;
    EntryFlags()     entry_flags;
    RecordSequence() record_sequence;
    EntryValues()    values;

    apply {
        if (meta.role == ROLE_CONTROL) {
            meta.loads = meta.same_generation && (hdr.kv.op == OP_EVICT || hdr.kv.op == OP_LOAD);
        }
        if (meta.filled || (meta.serving && (meta.role == ROLE_WRITE || meta.role == ROLE_REPLY))) {
            max_sequence.apply(hdr, meta);
        } else {
            meta.storable = false;
        }
        meta.stores = meta.applied || meta.filled || meta.refreshes;
        // The server may have applied a later write since the controller got the record, and its
        // reply may have passed before this FILL. Also in a recovery only a reply of the server
        // makes the record the latest.
        meta.incoming.latest = !meta.filled;

        if (meta.stores || meta.outdates || meta.loads || (meta.answers_reads && meta.serving)) {
            entry_flags.apply(meta);
        }
        if (meta.answers_reads) {
            meta.loads = meta.stored.latest || meta.stored.dirty;
        }
        if (meta.stores || meta.loads || meta.storable) {
            record_sequence.apply(meta);
        }
        if (meta.stores || meta.loads) {
            values.apply(hdr, meta);
        }
    }
}
