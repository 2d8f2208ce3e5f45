/* The latest sequence of any write of the key that an entry knows of. An older record is never taken
 * for the latest one. A sequence has its incarnation: a write from before a restart of the switch may
 * reach the server, and be answered, after the entry was filled. */

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
