/* Statistics about reads: which are counted, in which epoch, and how often cached keys are read. */

/* Which reads are counted, and from which estimate on a key is hot. */
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

/* The statistics epoch. A counter cell holds the epoch that it counts for. In any other epoch it
 * reads as 0, so a new epoch clears all statistics at once. 0 is the epoch before the first message
 * of the controller. In epoch 0 no hot key is reported. */
control StatisticsEpoch(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(1) current;
    bit<16> ahead = 0;

    apply {
        current.read(meta.epoch, 0);
        if (hdr.kv.op == OP_EPOCH) {
            // The epoch only grows. A late copy of an older message must not restore old counts.
            ahead = hdr.cache_metadata.version[15:0] - meta.epoch;
            if (meta.epoch == 0 || (ahead != 0 && ahead < 0x8000)) {
                current.write(0, hdr.cache_metadata.version[15:0]);
            }
        }
    }
}

/* Counts the sampled reads of each cached key in the current epoch (slide "Query Statistics"). A
 * read counts also if the entry is invalid: the count measures the popularity of the key. */
control HitCounter(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) counts; // epoch (16) | count (16)
    bit<32> cell = 0;

    apply {
        counts.read(cell, meta.entry);
        if (cell[31:16] == meta.epoch) {
            meta.hits = cell[15:0];
        }
        if (meta.sampled) {
            meta.hits = meta.hits |+| 1;
            counts.write(meta.entry, meta.epoch ++ meta.hits);
        }
    }
}
