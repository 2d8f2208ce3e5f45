/* Recirculates the clone with the rest of a request. Every pass removes at least one 1 from KEYIDX,
 * so recirculation ends. */

control Recirculation(inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (meta.cloned && std.egress_port == LOOP_PORT) {
            meta.recirculates = true;
            recirculate_preserving_field_list(0); // no fields: the header has all state
        }
    }
}
