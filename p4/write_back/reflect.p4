/* Sends a frame out by its reply port. An egress pipeline cannot change the port of a frame. A
 * clone of the frame leaves by the reply port and the frame itself is dropped (FarReach, section
 * V-A). The clone has the headers as they are now. Its own pass through egress changes nothing. */

/* The number of a clone session is the number of its port. */
control Reflect(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.reply_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.arrival_port;
        } else {
            hdr.packet_in.setInvalid();
        }
        clone(CloneType.E2E, (bit<32>) meta.reply_port);
        mark_to_drop(std);
    }
}
