/* Writes the stored record and its flags into a frame for the controller. */

control RecordReport(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;

    apply {
        stored_record.apply(hdr, meta);
        hdr.version_stamp.generation = meta.generation;
        hdr.version_stamp.bits = meta.further_bits;
        if (meta.stored.deleted) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DELETED;
        }
        if (meta.stored.latest) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_LATEST;
        }
        if (meta.stored.dirty) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DIRTY;
        }
        if (meta.serving) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_VALID;
        }
    }
}
