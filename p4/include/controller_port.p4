/* Frames from and to the controller. */
#ifndef NETKV_CONTROLLER_PORT_P4
#define NETKV_CONTROLLER_PORT_P4

/* The packet-in header, in front of what leaves through the CPU port. */
control ToController(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        if (std.egress_spec == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
        }
    }
}

#endif
