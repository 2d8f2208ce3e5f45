/* Only the controller may send messages about entries. Otherwise any host could remove entries or
 * send false messages to the controller. */

control EntryAccess(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (hdr.kv.isValid() && (hdr.kv.op & 0xF0) == OPS_OF_ENTRIES
            && std.ingress_port != CPU_PORT) {
            meta.drop_reason = DROP_FORBIDDEN;
        } else if (meta.role == ROLE_CONTROL && (bit<32>) hdr.slot.entry >= CACHE_ENTRIES) {
            meta.drop_reason = DROP_MALFORMED;
        }
    }
}
