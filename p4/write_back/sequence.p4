/* Gives every write its sequence number (FarReach, sections III-C and V-A). Keys with equal hash
 * bits share a counter: one counter for each key would need too much memory, and one for all would
 * wrap too soon. */

control Sequence(inout metadata_t meta) {
    register<bit<32>>(32768) counters; // the last sequence number

    apply {
        counters.read(meta.sequence, (bit<32>) meta.key_hash[14:0]);
        meta.sequence = meta.sequence + 1;
        if (meta.sequence == 0) {
            meta.sequence = 1; // 0 means "older than all"
        }
        counters.write((bit<32>) meta.key_hash[14:0], meta.sequence);
    }
}
