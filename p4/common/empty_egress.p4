/* The egress of programs that keep all their state in ingress. */

control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}
