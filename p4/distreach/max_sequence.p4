/* The largest sequence number of any write of the key that an entry knows of. An older record is
 * never taken for the latest one, and an older write changes nothing. */

control MaxSequence(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> maximum = 0;
    bool    newest = false;

    apply {
        cells.read(maximum, meta.entry);
        newest = is_newer(meta.sequence, maximum);
        if (meta.role == ROLE_WRITE) {
            meta.storable = meta.storable && meta.validity == VALID;
            // An older write must not be stored behind a newer one, which may be at the server.
            meta.applied = newest && meta.storable && meta.incoming.fits && !meta.superseded;
            meta.superseded = meta.superseded || (!newest && meta.sequence != maximum);
            meta.outdates = newest && !meta.applied; // it goes to the server
        } else if (meta.role == ROLE_REPLY) {
            // Only the reply to a read refreshes the entry, if the read passed the valid entry on
            // its way to the server.
            meta.refreshes = hdr.kv.op == OP_GET_REPLY && meta.incoming.fits
                             && meta.validity == VALID
                             && hdr.version_stamp.generation == meta.generation
                             && (hdr.version_stamp.bits & BIT_EMBEDDED) == 0
                             && (newest || meta.sequence == maximum);
            // A record of an earlier incarnation that the entry does not come from may be the later
            // one, if no write of this incarnation is known.
            meta.outdates = newest || (maximum == 0 && !meta.same_incarnation && !meta.refreshes
                                       && hdr.version_stamp.incarnation != 0);
        }
        if (meta.applied || meta.filled || (newest && (meta.outdates || meta.refreshes))) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}
