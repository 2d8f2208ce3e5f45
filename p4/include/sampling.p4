/* Which reads of NetCache are counted, and when a key is hot. */
#ifndef NETKV_SAMPLING_P4
#define NETKV_SAMPLING_P4

control Sampling(inout headers_t hdr, inout metadata_t meta) {
    Lot() lot;
    bit<32> below = 0;

    /* sample_below: of 65536 reads so many are counted (0 none, 65536 all).
     * hot_threshold: an uncached key is reported when its estimate reaches this. */
    action configure(bit<32> sample_below, bit<16> hot_threshold) {
        below = sample_below;
        meta.hot_threshold = hot_threshold;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF);
    }

    apply {
        settings.apply();
        lot.apply(hdr, meta, below);
    }
}

#endif
