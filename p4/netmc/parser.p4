/* Parser, checksums and deparser of frames with a netmc header. */

/* Parses a frame up to its netmc header. Frames of other ports, also those of the kv schemes, are
 * only routed. */
parser NetkvParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    bit<16>           udp_port = 0;

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) {
            NETMC_PORT: parse_netmc;
            default: accept;
        }
    }

    state parse_netmc {
        packet.extract(hdr.netmc);
        meta.received = std.instance_type != RECIRCULATED;
        verify(hdr.ipv4.total_len == hdr.udp.length + IPV4_BYTES
               && hdr.udp.length >= UDP_NETMC_BYTES, error.LengthsDisagree);
        transition accept;
    }
}

/* IPv4 and UDP checksums of frames with a netmc header. Other frames leave as they came, so their
 * checksums stay correct. UDP checksum 0 means "none"; rules in common/kv.p4.
 *
 * A recirculated frame does not leave the switch: its checksums are computed after its last pass
 * only, and not verified in between. */

#define PSEUDO_HEADER 8w0, hdr.ipv4.protocol, hdr.udp.length, hdr.ipv4.src, hdr.ipv4.dst
#define SRV(i) hdr.netmc.srv_##i,

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.netmc.isValid() && meta.received,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id,
              hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(
            hdr.netmc.isValid() && meta.received && hdr.udp.checksum != 0,
            { PSEUDO_HEADER, hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, hdr.udp.checksum,
              hdr.netmc.op, hdr.netmc.id, hdr.netmc.oid, hdr.netmc.numkey, hdr.netmc.keyidx,
              hdr.netmc.startidx, hdr.netmc.clo,
#include "netmc/srv_fields.p4"
              hdr.netmc.rack },
            meta.udp_checksum, HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.netmc.isValid() && !meta.recirculates,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id,
              hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.netmc.isValid() && !meta.recirculates && hdr.udp.checksum != 0,
            { 16w0 }, meta.udp_checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(
            hdr.netmc.isValid() && !meta.recirculates && hdr.udp.checksum != 0,
            { PSEUDO_HEADER, hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
              hdr.netmc.op, hdr.netmc.id, hdr.netmc.oid, hdr.netmc.numkey, hdr.netmc.keyidx,
              hdr.netmc.startidx, hdr.netmc.clo,
#include "netmc/srv_fields.p4"
              hdr.netmc.rack },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(
            hdr.netmc.isValid() && !meta.recirculates
            && meta.udp_checksum != 0 && hdr.udp.checksum == 0,
            { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

#undef SRV

/* Emits the headers in wire order. */
control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.netmc);
    }
}
