/* Gives every write its number (FarReach, sections III-C and V-A). Keys share counters, so that
 * there need not be one for each key, and not one for all, which would go round too soon. */
#ifndef NETKV_SEQUENCE_P4
#define NETKV_SEQUENCE_P4

control Sequence(inout metadata_t meta) {
    register<bit<32>>(32768) counters; // the number given last

    apply {
        counters.read(meta.number, (bit<32>) meta.key_hash[14:0]);
        meta.number = meta.number + 1;
        if (meta.number == 0) {
            meta.number = 1; // 0 is "from before"
        }
        counters.write((bit<32>) meta.key_hash[14:0], meta.number);
    }
}

#endif
