/* The statistics epoch. A counter cell holds the epoch that it counts for. In any other epoch it
 * reads as 0, so a new epoch clears all statistics at once. 0 is the epoch before the first message
 * of the controller. In epoch 0 no hot key is reported. */

control StatisticsEpoch(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(1) current;
    bit<16> ahead = 0;

    apply {
        current.read(meta.epoch, 0);
        if (hdr.kv.op == OP_EPOCH) {
            // The epoch only grows. A late copy of an older message must not restore old counts.
            ahead = hdr.cache_metadata.version[15:0] - meta.epoch;
            if (meta.epoch == 0 || (ahead != 0 && ahead < 0x8000)) {
                current.write(0, hdr.cache_metadata.version[15:0]);
            }
        }
    }
}
