/* Drops a frame and counts why: index DROP_… of protocol.p4. */
#ifndef NETKV_DROP_P4
#define NETKV_DROP_P4

control Drop(inout metadata_t meta, inout standard_metadata_t std) {
    counter(DROP_REASONS, CounterType.packets) reasons;

    apply {
        reasons.count((bit<32>) meta.drop_reason);
        mark_to_drop(std);
    }
}

#endif
