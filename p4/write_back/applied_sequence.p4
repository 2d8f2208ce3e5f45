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
