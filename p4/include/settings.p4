/* What the controller has set, and what follows from it for the sequence that a frame brings. */
#ifndef NETKV_SETTINGS_P4
#define NETKV_SETTINGS_P4

control Settings(inout headers_t hdr, inout metadata_t meta) {
    bool closed = true;

    /* sample_below: of 65536 requests so many are counted (0 none, 65536 all).
     * hot_threshold: the owner of an uncached key is told when its estimate reaches this.
     * epoch: of the statistics. life: of the switch. open: 0 while the cache is recovered. */
    action configure(bit<32> sample_below, bit<16> hot_threshold, bit<16> epoch, bit<32> life,
                     bit<8> open) {
        meta.sample_below = sample_below;
        meta.hot_threshold = hot_threshold;
        meta.epoch = epoch;
        meta.life = life;
        closed = open == 0;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF, 0, 0, 0);
    }

    apply {
        settings.apply();
        if (closed && (meta.role == ROLE_READ || meta.role == ROLE_WRITE)) {
            meta.drop_reason = DROP_CLOSED;
        }
        // This life is the present one or the one before it: they share their numbers. 0 is none.
        meta.this_life = hdr.stamp.life != 0
                         && (hdr.stamp.life == meta.life || hdr.stamp.life == meta.life - 1);
        if (meta.this_life) {
            meta.number = hdr.stamp.number;
        }
    }
}

#endif
