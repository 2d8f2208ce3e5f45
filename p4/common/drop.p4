/* Drops a frame and counts the reason: index DROP_... of protocol.p4. */

control Drop(inout metadata_t meta, inout standard_metadata_t std) {
    counter(DROP_REASONS, CounterType.packets) reasons;

    apply {
        reasons.count((bit<32>) meta.drop_reason);
        mark_to_drop(std);
    }
}
