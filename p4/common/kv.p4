/* What a program does with the kv header of a frame: parse it, verify and update checksums, check
 * who may send it, and find the owner of its key. */

error {
    UnknownFormat // the kv header is of another version of the wire format
}

/* Parses the kv header and checks the lengths of the frame. */
parser KvParser(packet_in packet, inout headers_t hdr) {
    state start {
        packet.extract(hdr.kv);
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES && hdr.udp.length >= UDP_KV_BYTES,
               error.LengthsDisagree);
        verify(hdr.kv.format == FORMAT, error.UnknownFormat);
        transition accept;
    }
}

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

/* Only the controller may send requests about statistics. Otherwise any host could clear them. */
control StatisticsAccess(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (hdr.kv.isValid() && hdr.kv.op[7:4] == OPS_OF_STATISTICS && hdr.kv.op[0:0] == 0
            && std.ingress_port != CPU_PORT) {
            meta.drop_reason = DROP_FORBIDDEN;
        }
    }
}

/* Sends a request for the service to the server that owns its key. The controller fills the table:
 * each server owns one range of the 32-bit hash space. */
control Partition(inout headers_t hdr, inout metadata_t meta) {
    action to_owner(bit<48> mac, bit<32> address) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = address;
    }

    action unowned() {
        meta.drop_reason = DROP_NO_OWNER;
    }

    table owner {
        key = { meta.key_hash: range @name("hash"); }
        actions = { to_owner; unowned; }
        const default_action = unowned();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.dst == SERVICE_ADDRESS) {
            hash(meta.key_hash, HashAlgorithm.crc32, 32w0, { hdr.kv.key }, 64w0x100000000);
            owner.apply();
        }
    }
}
