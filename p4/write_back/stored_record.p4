/* Writes length and version of the stored record into the frame. Its chunks are in the frame
 * already. */

control StoredRecord(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.kv.length = meta.stored.length;
        hdr.version_stamp.sequence = meta.stored.sequence;
        hdr.version_stamp.incarnation = 0; // of an earlier incarnation: older than all
        if (meta.stored.sequence != 0) {
            hdr.version_stamp.incarnation = meta.stored.incarnation;
        }
    }
}
