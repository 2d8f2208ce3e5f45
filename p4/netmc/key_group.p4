/* The keys of the current group (Algorithm 2, lines 5 to 7). The group ends at the first 1 in
 * KEYIDX. A switch has no loop, so comparisons with constants find that bit. */

control KeyGroup(inout headers_t hdr) {
    action group_of(bit<8> keys) {
        hdr.netmc.keyidx = hdr.netmc.keyidx << keys;
        hdr.netmc.numkey = keys;
    }

    apply {
        if (hdr.netmc.keyidx >= 0x8000) {
            group_of(1);
        } else if (hdr.netmc.keyidx >= 0x4000) {
            group_of(2);
        } else if (hdr.netmc.keyidx >= 0x2000) {
            group_of(3);
        } else if (hdr.netmc.keyidx >= 0x1000) {
            group_of(4);
        } else if (hdr.netmc.keyidx >= 0x0800) {
            group_of(5);
        } else if (hdr.netmc.keyidx >= 0x0400) {
            group_of(6);
        } else if (hdr.netmc.keyidx >= 0x0200) {
            group_of(7);
        } else if (hdr.netmc.keyidx >= 0x0100) {
            group_of(8);
        } else if (hdr.netmc.keyidx >= 0x0080) {
            group_of(9);
        } else if (hdr.netmc.keyidx >= 0x0040) {
            group_of(10);
        } else if (hdr.netmc.keyidx >= 0x0020) {
            group_of(11);
        } else if (hdr.netmc.keyidx >= 0x0010) {
            group_of(12);
        } else if (hdr.netmc.keyidx >= 0x0008) {
            group_of(13);
        } else if (hdr.netmc.keyidx >= 0x0004) {
            group_of(14);
        } else if (hdr.netmc.keyidx >= 0x0002) {
            group_of(15);
        } else if (hdr.netmc.keyidx >= 0x0001) {
            hdr.netmc.keyidx = 0; // not by a shift: it would be as wide as the field
            hdr.netmc.numkey = 16;
        } // KEYIDX 0 is no request and is dropped
    }
}
