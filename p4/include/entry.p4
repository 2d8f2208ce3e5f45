/* What a frame does to the record of its entry, and what it takes from there. */
#ifndef NETKV_ENTRY_P4
#define NETKV_ENTRY_P4

control Entry(inout headers_t hdr, inout metadata_t meta) {
    Floor()       floor;
    Reported()    reported;
    Facts()       facts;
    Number()      number;
    EntryValues() values;

    apply {
        if (meta.role == ROLE_CONTROL) {
            meta.loads = meta.ours && (hdr.kv.op == OP_EVICT || hdr.kv.op == OP_LOAD);
        } else if (meta.role == ROLE_WRITE) {
            // A write that goes to the server makes an entry outdated at once, where its effect is
            // sure and the entry cannot take it; else its reply does.
            meta.outdates = !meta.applied && !meta.repeated
                            && (meta.validity == TO_BE_EVICTED
                                || (meta.validity == VALID && meta.unseen && !meta.brought.fits));
        }
        if (meta.applied || meta.outdates || meta.filled
            || (meta.role == ROLE_REPLY && meta.serving)) {
            floor.apply(hdr, meta);
        }
        if (meta.filled || meta.loads
            || (meta.snapshot != 0 && (meta.applied || meta.refreshes))) {
            reported.apply(hdr, meta);
        }
        meta.stores = meta.applied || meta.filled || meta.refreshes;

        if (meta.stores || meta.outdates || meta.loads
            || (meta.role == ROLE_READ && meta.serving)) {
            facts.apply(meta);
        }
        if (meta.role == ROLE_READ) {
            meta.loads = meta.held.latest || meta.held.dirty;
        } else if (meta.original) {
            meta.loads = true;
        }
        if (meta.stores || meta.loads) {
            number.apply(meta);
            values.apply(hdr, meta);
        }
    }
}

#endif
