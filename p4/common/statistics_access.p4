/* Only the controller may send requests about statistics. Otherwise any host could clear them. */

control StatisticsAccess(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (hdr.kv.isValid() && hdr.kv.op[7:4] == OPS_OF_STATISTICS && hdr.kv.op[0:0] == 0
            && std.ingress_port != CPU_PORT) {
            meta.drop_reason = DROP_FORBIDDEN;
        }
    }
}
