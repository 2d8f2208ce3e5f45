/* The stamp with which a request continues along the chain. */

control ChainStamp(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.version_stamp.incarnation = meta.own_incarnation;
        hdr.version_stamp.sequence = meta.sequence;
        // The entry of the key in this switch, and the switches passed so far.
        hdr.version_stamp.generation = meta.generation[23:0] ++ (meta.position + 1);
        hdr.version_stamp.bits = BIT_SEQUENCED;
        if (meta.past) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_PAST;
        }
        if (meta.superseded) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_SUPERSEDED;
        }
        if (meta.applied || meta.covered) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_STORED;
        }
    }
}
