/* The record of an entry: whether it is the latest of its key, and what a frame does to it. */

/* The latest sequence of any write of the key that an entry knows of. An older record is never
 * taken for the latest one. A sequence has its incarnation: a write from before a restart of the
 * switch may reach the server, and be answered, after the entry was filled. */
control MaxSequence(inout headers_t hdr, inout metadata_t meta) {
    register<bit<64>>(CACHE_ENTRIES) cells; // incarnation (32) | number (32)
    bit<64> maximum = 0;
    bit<64> sequence = 0;

    apply {
        sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;
        if (meta.role == ROLE_WRITE) {
            sequence = meta.incarnation ++ meta.sequence;
        }
        if (meta.role == ROLE_REPLY) {
            cells.read(maximum, meta.entry);
            meta.outdates = is_later(sequence, maximum);
            // Only the reply to a read refreshes the entry, if the read passed the valid entry on
            // its way to the server.
            meta.refreshes = hdr.kv.op == OP_GET_REPLY && meta.incoming.fits
                             && meta.validity == VALID
                             && hdr.version_stamp.generation == meta.generation
                             && (hdr.version_stamp.bits & BIT_EMBEDDED) == 0
                             && (meta.outdates || sequence == maximum);
        }
        if (meta.role != ROLE_REPLY || meta.outdates) {
            cells.write(meta.entry, sequence);
        }
    }
}

/* The sequence number of the record in an entry. */
control RecordSequence(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;

    apply {
        cells.read(meta.stored.sequence, meta.entry);
        if (meta.stores) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}

/* The effect of a frame on the record of its entry, and what the frame gets from the entry. */
control Entry(inout headers_t hdr, inout metadata_t meta) {
    MaxSequence()      max_sequence;
    ReportedSnapshot() reported_snapshot;
    EntryFlags()       entry_flags;
    RecordSequence()   record_sequence;
    EntryValues()      values;

    apply {
        if (meta.role == ROLE_CONTROL) {
            meta.reports = meta.same_generation && (hdr.kv.op == OP_EVICT || hdr.kv.op == OP_LOAD);
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
        if (meta.filled || meta.reports
            || (meta.snapshot != 0 && (meta.applied || meta.refreshes))) {
            reported_snapshot.apply(hdr, meta);
        }
        meta.stores = meta.applied || meta.filled || meta.refreshes;
        meta.incoming.latest = !meta.filled;

        if (meta.stores || meta.outdates || meta.reports
            || (meta.role == ROLE_READ && meta.serving)) {
            entry_flags.apply(meta);
        }
        meta.loads = meta.reports || meta.original
                     || (meta.role == ROLE_READ && (meta.stored.latest || meta.stored.dirty));
        if (meta.stores || meta.loads) {
            record_sequence.apply(meta);
            values.apply(hdr, meta);
        }
    }
}
