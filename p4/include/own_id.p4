/* Is the frame a request that this switch has to split? Only the switch of the storage rack does, so
 * requests name it (NetMC, section III-G). A switch without servers of its own has no id. */
#ifndef NETKV_OWN_ID_P4
#define NETKV_OWN_ID_P4

control OwnId(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action ours() {
        meta.splits = true;
    }

    table own_id {
        key = { hdr.netmc.rack: exact @name("rack"); }
        actions = { ours; NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    apply {
        if (std.instance_type == RECIRCULATED) {
            ours(); // nothing comes back but the rest of a request
        } else if (hdr.netmc.clo == 0 && hdr.netmc.op >= OP_MGET && hdr.netmc.op <= OP_MDELETE) {
            // What is cloned and comes from outside is a sub-request on its way.
            own_id.apply();
            if (meta.splits && (hdr.netmc.numkey == 0 || hdr.netmc.numkey > MAX_KEYS
                                || hdr.netmc.keyidx == 0 || hdr.netmc.oid != FIRST_OID
                                || hdr.netmc.startidx != 0)) {
                meta.drop_reason = DROP_NOT_SPLIT;
            }
        }
    }
}

#endif
