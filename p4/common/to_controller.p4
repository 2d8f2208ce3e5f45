/* Adds the packet-in header to a frame that leaves through the CPU port. */

control ToController(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        if (std.egress_spec == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
        }
    }
}
