/* The record of an entry: whether it is the latest of its key, and what a frame does to it. */

/* The latest sequence of any write of the key that an entry knows of, with its incarnation. An
 * older record is never taken for the latest one, and an older write changes nothing. */
control MaxSequence(inout headers_t hdr, inout metadata_t meta) {
    register<bit<64>>(CACHE_ENTRIES) cells; // incarnation (32) | number (32)
    bit<64> maximum = 0;
    bit<64> sequence = 0;
    bool    newest = false;

    apply {
        sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;
        if (meta.role == ROLE_WRITE) {
            sequence = meta.own_incarnation ++ meta.sequence;
        }
        cells.read(maximum, meta.entry);
        newest = is_later(sequence, maximum);
        if (meta.role == ROLE_WRITE) {
            meta.storable = meta.storable && meta.validity == VALID;
            // An older write must not be stored behind a newer one, which may be at the server.
            meta.applied = newest && meta.storable && meta.incoming.fits && !meta.superseded;
            meta.superseded = meta.superseded || (!newest && sequence != maximum);
            meta.outdates = newest && !meta.applied; // it goes to the server
        } else if (meta.role == ROLE_REPLY) {
            // Only the reply to a read refreshes the entry, if the read passed the valid entry on
            // its way to the server.
            meta.refreshes = hdr.kv.op == OP_GET_REPLY && meta.incoming.fits
                             && meta.validity == VALID
                             && hdr.version_stamp.generation == meta.generation
                             && (hdr.version_stamp.bits & BIT_EMBEDDED) == 0
                             && (newest || sequence == maximum);
            meta.outdates = newest;
        }
        if (newest || meta.filled) {
            cells.write(meta.entry, sequence);
        }
    }
}

/* The sequence number of the record in an entry. A write that is not newer than the record is
 * covered by it. */
control RecordSequence(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;

    apply {
        cells.read(meta.stored.sequence, meta.entry);
        meta.covered = meta.storable && (meta.stored.sequence == meta.sequence
                                         || is_newer(meta.stored.sequence, meta.sequence));
        if (meta.stores) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}

/* The effect of a frame on the record of its entry, and what the frame gets from the entry. */
control Entry(inout headers_t hdr, inout metadata_t meta) {
    MaxSequence()    max_sequence;
    EntryFlags()     entry_flags;
    RecordSequence() record_sequence;
    EntryValues()    values;

    apply {
        if (meta.role == ROLE_CONTROL) {
            meta.reports = meta.same_generation && (hdr.kv.op == OP_EVICT || hdr.kv.op == OP_LOAD);
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

        if (meta.stores || meta.outdates || meta.reports
            || (meta.answers_reads && meta.serving)) {
            entry_flags.apply(meta);
        }
        meta.loads = meta.reports
                     || (meta.answers_reads && (meta.stored.latest || meta.stored.dirty));
        if (meta.stores || meta.loads || meta.storable) {
            record_sequence.apply(meta);
        }
        if (meta.stores || meta.loads) {
            values.apply(hdr, meta);
        }
    }
}
