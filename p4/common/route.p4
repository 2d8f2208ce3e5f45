/* Maps the IPv4 destination of every frame to a switch port. */

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port) {
        std.egress_spec = port;
    }

    action unknown() {
        meta.drop_reason = DROP_NO_ROUTE;
    }

    table ipv4 {
        key = { hdr.ipv4.dst: exact @name("dst"); }
        actions = { forward; unknown; }
        const default_action = unknown();
        size = 4096;
    }

    apply {
        ipv4.apply();
    }
}
