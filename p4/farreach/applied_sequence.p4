/* The sequence numbers of applied writes in the deduplication window. */

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
