/* Which reads NetCache counts, and from which estimate on a key is hot. */

control ReadSampling(inout headers_t hdr, inout metadata_t meta) {
    Sampler() sampler;
    bit<32>   below = 0;

    /* sample_below: this many of 65536 reads are counted (0: none, 65536: all).
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
        sampler.apply(hdr, meta, below);
    }
}
