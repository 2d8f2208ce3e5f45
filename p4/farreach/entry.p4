/* The effect of a frame on the record of its entry, and what the frame gets from the entry. */

control Entry(inout headers_t hdr, inout metadata_t meta) {
    MaxSequence()      max_sequence;
    ReportedSnapshot() reported_snapshot;
    EntryFlags()       entry_flags;
    RecordSequence()   record_sequence;
    EntryValues()      values;

    apply {
        if (meta.role == ROLE_CONTROL) {
            meta.loads = meta.same_generation && (hdr.kv.op == OP_EVICT || hdr.kv.op == OP_LOAD);
        } else if (meta.role == ROLE_WRITE) {
            // A forwarded write outdates the entry at once if it is certain to take effect and the
            // entry cannot store it. Otherwise the reply to the write outdates the entry.
            meta.outdates = !meta.applied && !meta.repeated
                            && (meta.validity == TO_BE_EVICTED
                                || (meta.validity == VALID && meta.first_copy
                                    && !meta.incoming.fits));
        }
        if (meta.applied || meta.outdates || meta.filled
            || (meta.role == ROLE_REPLY && meta.serving)) {
            max_sequence.apply(hdr, meta);
        }
        if (meta.filled || meta.loads
            || (meta.snapshot != 0 && (meta.applied || meta.refreshes))) {
            reported_snapshot.apply(hdr, meta);
        }
        meta.stores = meta.applied || meta.filled || meta.refreshes;
        meta.incoming.latest = !meta.filled;

        if (meta.stores || meta.outdates || meta.loads
            || (meta.role == ROLE_READ && meta.serving)) {
            entry_flags.apply(meta);
        }
        if (meta.role == ROLE_READ) {
            meta.loads = meta.stored.latest || meta.stored.dirty;
        } else if (meta.original) {
            meta.loads = true;
        }
        if (meta.stores || meta.loads) {
            record_sequence.apply(meta);
            values.apply(hdr, meta);
        }
    }
}
