/* The largest sequence number of any write of the key that an entry knows of. An older record is
 * never taken for the latest one. */

control MaxSequence(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells;
    bit<32> maximum = 0;

    apply {
        if (meta.role == ROLE_REPLY) {
            cells.read(maximum, meta.entry);
            meta.outdates = is_newer(meta.sequence, maximum);
            // Only the reply to a read refreshes the entry, if the read passed the valid entry on
            // its way to the server.
            meta.refreshes = hdr.kv.op == OP_GET_REPLY && meta.incoming.fits
                             && meta.validity == VALID
                             && hdr.version_stamp.generation == meta.generation
                             && (hdr.version_stamp.bits & BIT_EMBEDDED) == 0
                             && (meta.outdates || meta.sequence == maximum);
        }
        if (meta.role != ROLE_REPLY || meta.outdates) {
            cells.write(meta.entry, meta.sequence);
        }
    }
}
