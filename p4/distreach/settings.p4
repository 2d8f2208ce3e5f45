/* Settings of the controller for ingress. */

const bit<8> MODE_CLOSED = 0; // requests of the chain are dropped
const bit<8> MODE_OPEN = 1;
const bit<8> MODE_HOLD = 2;   // requests for keys in the lookup table are dropped; a switch above
                              // the tail only routes the others

control Settings(inout metadata_t meta) {
    /* sample_below: this many of 65536 requests are counted (0: none, 65536: all).
     * hot_threshold: from this estimate on, the tail reports an uncached key as hot to its owner.
     * epoch: of the statistics. */
    action configure(bit<32> sample_below, bit<16> hot_threshold, bit<16> epoch, bit<8> mode) {
        meta.sample_below = sample_below;
        meta.hot_threshold = hot_threshold;
        meta.epoch = epoch;
        meta.mode = mode;
    }

    table settings {
        actions = { configure; }
        default_action = configure(0, 0xFFFF, 0, MODE_CLOSED);
    }

    apply {
        settings.apply();
    }
}
