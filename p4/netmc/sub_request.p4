/* Sends the sub-request of the current group (Algorithm 2, lines 9 to 13). If keys are left, the
 * replication engine clones the request: the multicast group of a server has two copies, one to the
 * server and one to the recirculation port. */

control SubRequest(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.netmc.keyidx > 0) {
            hdr.netmc.clo = 1; // set before the frame is cloned, so the sub-request has it too
            meta.cloned = true;
            std.mcast_grp = meta.group;
        } else {
            std.egress_spec = meta.port;
        }
    }
}
