/* Sequences of writes (docs/schemes/farreach.md). The number of a record is 0 if its incarnation is
 * an earlier one. */

/* Whether sequence number `a` is of a later write than `b`: serial numbers, which wrap. */
bool is_newer(in bit<32> a, in bit<32> b) {
    return a != 0 && a != b && (b == 0 || a - b < 0x80000000);
}

/* Whether a sequence is of a later write than another: incarnation (32) | number (32). A sequence
 * with number 0 is of no write. */
bool is_later(in bit<64> a, in bit<64> b) {
    return a[31:0] != 0
           && (b[31:0] == 0 || is_newer(a[63:32], b[63:32])
               || (a[63:32] == b[63:32] && is_newer(a[31:0], b[31:0])));
}

/* The incarnation with these lowest bits, among the last 8192 including the current one. */
bit<32> incarnation_of(in bit<13> lowest, in bit<32> current) {
    return current - (bit<32>) (current[12:0] - lowest);
}

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

/* Sequence numbers in the deduplication window: a repeated write gets that of its first copy. */
control AppliedSequence(inout metadata_t meta) {
    register<bit<32>>(65536) cells;

    apply {
        if (meta.repeated) {
            cells.read(meta.sequence, meta.dedup_index);
        } else {
            cells.write(meta.dedup_index, meta.sequence);
        }
    }
}
