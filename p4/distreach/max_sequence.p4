/* The latest sequence of any write of the key that an entry knows of, with its incarnation. An older
 * record is never taken for the latest one, and an older write changes nothing. */

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
