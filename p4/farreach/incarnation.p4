/* The incarnation of the switch. It is set in egress, where writes get their sequence numbers. A
 * table write reaches the pipelines one after another. In ingress, writes of the same key could
 * therefore get incarnations that are out of order. */

control Incarnation(inout headers_t hdr, inout metadata_t meta) {
    action set(bit<32> incarnation) {
        meta.incarnation = incarnation;
    }

    table current {
        actions = { set; }
        default_action = set(0);
    }

    apply {
        current.apply();
        // The incarnation before the current one counts as the same: it continues the same sequence
        // numbers. 0 is no incarnation.
        meta.same_incarnation = hdr.version_stamp.incarnation != 0
                                && (hdr.version_stamp.incarnation == meta.incarnation
                                    || hdr.version_stamp.incarnation == meta.incarnation - 1);
        if (meta.same_incarnation) {
            meta.sequence = hdr.version_stamp.sequence;
        }
        meta.incoming.incarnation = hdr.version_stamp.incarnation;
        if (meta.role == ROLE_WRITE) {
            meta.incoming.incarnation = meta.incarnation;
            meta.past = hdr.version_stamp.incarnation != 0 && !meta.same_incarnation;
        }
    }
}
