/* Whether this ingress pipeline has passed the snapshot point (FarReach, section III-D).
 *
 * The snapshot point must be the same for all pipelines. The controller switches the pipelines one
 * after another. Meanwhile the other pipelines redirect their writes through pipeline 0. Replies to
 * reads change entries too, so they are redirected as well. */

control Snapshot(inout metadata_t meta, in standard_metadata_t std) {
    action redirect() {
        meta.redirected = true;
    }

    action taking(bit<32> number) {
        meta.snapshot = number;
    }

    action idle() { }

    table snapshot {
        key = { meta.pipeline: exact @name("pipeline"); }
        actions = { redirect; taking; idle; }
        const default_action = idle();
        size = 16;
    }

    apply {
        snapshot.apply();
        if (std.instance_type == RECIRCULATED) {
            meta.redirected = false; // a frame is redirected once at most
        }
    }
}
