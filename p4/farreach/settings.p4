/* Settings of the controller for ingress. */

control Settings(inout metadata_t meta) {
    bool closed = true;

    /* sample_below: this many of 65536 requests are counted (0: none, 65536: all).
     * hot_threshold: from this estimate on, the switch reports an uncached key as hot to its owner.
     * epoch: of the statistics. open: 0 while the cache is recovered. */
    action configure(bit<32> sample_below, bit<16> hot_threshold, bit<16> epoch, bit<8> open) {
        meta.sample_below = sample_below;
        meta.hot_threshold = hot_threshold;
        meta.epoch = epoch;
        closed = open == 0;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF, 0, 0);
    }

    apply {
        settings.apply();
        if (closed && (meta.role == ROLE_READ || meta.role == ROLE_WRITE)) {
            meta.drop_reason = DROP_CLOSED;
        }
    }
}
