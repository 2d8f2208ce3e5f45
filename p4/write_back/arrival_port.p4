/* The port by which a frame arrived. A recirculated frame carries it along. */

control ArrivalPort(inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (std.instance_type != RECIRCULATED) {
            meta.arrival_port = std.ingress_port;
        }
    }
}
