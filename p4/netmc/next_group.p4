/* Turns a recirculated clone to the next key group (Algorithm 2, lines 1 to 4). */

control NextGroup(inout headers_t hdr) {
    apply {
        if (hdr.netmc.clo == 1) {
            hdr.netmc.oid = hdr.netmc.oid + 1;
            hdr.netmc.startidx = hdr.netmc.startidx + hdr.netmc.numkey;
        }
    }
}
