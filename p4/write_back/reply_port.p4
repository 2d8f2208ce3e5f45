/* The port and op of the reply to a frame. Applied when the route is known. */

control ReplyPort(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.role != ROLE_REPLY) {
            meta.reply_port = meta.arrival_port;
            meta.reply_op = hdr.kv.op | 1;
        } else if (meta.cached) {
            // The reply passes the entry, in the egress pipeline of its server, before the client
            // gets it.
            meta.reply_port = std.egress_spec;
            std.egress_spec = meta.arrival_port;
        } else {
            meta.role = ROLE_NONE;
        }
    }
}
