/* The pass of one of the clones that Original starts. */

control OriginalClone(inout headers_t hdr, inout metadata_t meta) {
    WriteAnswer() write_answer;

    apply {
        meta.clones_left = meta.clones_left - 1;
        if (meta.clones_left == 0) {
            hdr.packet_in.setInvalid();
            hdr.slot.setInvalid();
            write_answer.apply(hdr, meta);
        } else if (meta.clones_left == 1) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) meta.arrival_port, Kept.ORIGINAL);
        } else {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) CPU_PORT, Kept.ORIGINAL);
        }
    }
}
