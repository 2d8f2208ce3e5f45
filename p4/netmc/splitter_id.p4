/* Whether the frame is a request that this switch must split. Only the switch of the storage rack
 * splits, so a request names that switch (NetMC, section III-G). A switch without servers has no
 * id. */

control SplitterId(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action split() {
        meta.splits = true;
    }

    table splitter_id {
        key = { hdr.netmc.rack: exact @name("rack"); }
        actions = { split; NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    apply {
        if (std.instance_type == RECIRCULATED) {
            split(); // only the rest of a request is recirculated
        } else if (hdr.netmc.clo == 0 && hdr.netmc.op >= OP_MGET && hdr.netmc.op <= OP_MDELETE) {
            // A cloned frame that arrives from outside is a sub-request of another switch.
            splitter_id.apply();
            if (meta.splits && (hdr.netmc.numkey == 0 || hdr.netmc.numkey > MAX_KEYS
                                || hdr.netmc.keyidx == 0 || hdr.netmc.oid != FIRST_OID
                                || hdr.netmc.startidx != 0)) {
                meta.drop_reason = DROP_NOT_SPLIT;
            }
        }
    }
}
