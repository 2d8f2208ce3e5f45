/* Whether this ingress pipeline has passed the snapshot point (FarReach, section III-D).
 *
 * For the point to be one for all pipelines, the others send their writes through pipeline 0 while
 * the controller tells one after the other. Read replies change entries too, so they go along. */
#ifndef NETKV_SNAPSHOT_P4
#define NETKV_SNAPSHOT_P4

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
            meta.redirected = false; // once round is enough, whatever the table says
        }
    }
}

#endif
