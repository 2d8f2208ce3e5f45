/* IPv4 and UDP checksums of frames with a kv header. Other frames leave as they came, so their
 * checksums stay correct.
 *
 * UDP checksum 0 means "none". A frame with a checksum is verified, and every frame made from it
 * leaves with its own checksum. A frame without one leaves without one. Therefore no program writes
 * the field: until the frame leaves, a value other than 0 means that it gets a checksum. Clones,
 * multicast copies and recirculated frames keep it, while they lose metadata.
 *
 * Each program defines CHECKED_FIELDS: the fields of its headers after UDP, in wire order. v1model
 * leaves out fields of invalid headers. Bytes that are not parsed are payload. */

#ifndef CHECKED_FIELDS
#error Define CHECKED_FIELDS, the fields after the UDP header: KV_FIELDS, then those of the program.
#endif

#define PSEUDO_HEADER 8w0, hdr.ipv4.protocol, hdr.udp.length, hdr.ipv4.src, hdr.ipv4.dst

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.kv.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id,
              hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // The data includes the checksum, so csum16 gives 0 for a right frame. Otherwise 0xFFFF,
        // which stands for a checksum of 0, would count as wrong.
        verify_checksum_with_payload(hdr.kv.isValid() && hdr.udp.checksum != 0,
            { PSEUDO_HEADER, hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, hdr.udp.checksum,
              CHECKED_FIELDS },
            meta.udp_checksum, HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.kv.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id,
              hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // 0xFFFF if the frame gets a checksum: the field cannot tell once its checksum is 0.
        update_checksum(hdr.kv.isValid() && hdr.udp.checksum != 0,
            { 16w0 }, meta.udp_checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.kv.isValid() && hdr.udp.checksum != 0,
            { PSEUDO_HEADER, hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, CHECKED_FIELDS },
            hdr.udp.checksum, HashAlgorithm.csum16);
        // A checksum of 0 is sent as 0xFFFF, which is csum16 of 0.
        update_checksum(hdr.kv.isValid() && meta.udp_checksum != 0 && hdr.udp.checksum == 0,
            { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
