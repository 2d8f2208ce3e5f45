/* Finds frames that are malformed or not IPv4. Its result replaces the results of other checks, so
 * it does not depend on them: a chip can run all checks at the same time. */

/* is_netkv: the frame has a header of the program after UDP. */
control FrameCheck(in ipv4_t ipv4, in bool is_netkv,
                   inout metadata_t meta, in standard_metadata_t std) {
    bit<32> needed = 0;

    apply {
        if (std.parser_error != error.NoError || std.checksum_error == 1) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (!ipv4.isValid()) {
            meta.drop_reason = DROP_NOT_IPV4;
        } else if (is_netkv) {
            // The parser does not read the whole payload, so it does not notice a missing end.
            needed = ETHERNET_BYTES + (bit<32>) ipv4.total_len;
            if (std.ingress_port == CPU_PORT) {
                needed = needed + PACKET_OUT_BYTES;
            }
            if (std.packet_length < needed) {
                meta.drop_reason = DROP_MALFORMED;
            }
        }
    }
}
