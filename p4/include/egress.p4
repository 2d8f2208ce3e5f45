/* Nothing is left to do in egress: all state is in ingress, where one access order holds. */
#ifndef NETKV_EGRESS_P4
#define NETKV_EGRESS_P4

control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

#endif
