/* The statistics epoch. A counter cell carries the epoch it counts for and reads as 0 in any other,
 * so a new epoch clears all statistics at once. 0 is the epoch before the controller's first: no
 * hot key is reported in it. */
#ifndef NETKV_EPOCH_P4
#define NETKV_EPOCH_P4

control Epoch(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(1) current;
    bit<16> ahead = 0;

    apply {
        current.read(meta.epoch, 0);
        if (hdr.kv.op == OP_EPOCH) {
            // Only forward: a late copy of an older message must not bring old counts back.
            ahead = hdr.mark.version[15:0] - meta.epoch;
            if (meta.epoch == 0 || (ahead != 0 && ahead < 0x8000)) {
                current.write(0, hdr.mark.version[15:0]);
            }
        }
    }
}

#endif
