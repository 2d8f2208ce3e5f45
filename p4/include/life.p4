/* The life of the switch. It is told in egress, where numbers are given: the pipelines hear of a new one
 * at different times, and the writes of a key must not get lives that are out of order. */
#ifndef NETKV_LIFE_P4
#define NETKV_LIFE_P4

control Life(inout headers_t hdr, inout metadata_t meta) {
    action live(bit<32> life) {
        meta.life = life;
    }

    table life {
        actions = { live; }
        default_action = live(0);
    }

    apply {
        life.apply();
        // The life before this one is this one, too: their numbers are of one line. 0 is no life.
        meta.this_life = hdr.stamp.life != 0
                         && (hdr.stamp.life == meta.life || hdr.stamp.life == meta.life - 1);
        if (meta.this_life) {
            meta.number = hdr.stamp.number;
        }
        meta.brought.life = hdr.stamp.life;
        if (meta.role == ROLE_WRITE) {
            meta.brought.life = meta.life;
        }
    }
}

#endif
