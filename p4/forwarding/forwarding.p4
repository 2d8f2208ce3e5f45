/* The switch sends a request to the owner of its key and a reply back to the client. It is the
 * program of schemes whose switch has no cache. */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    kv_t         kv;
}
#define CHECKED_FIELDS KV_FIELDS

struct metadata_t {
    bit<8>  drop_reason;
    bit<16> udp_checksum; // written by UpdateChecksums only; 0 before
    bit<32> key_hash;
}

#include "common/frame.p4"
#include "common/kv.p4"
#include "common/empty_egress.p4"
#include "forwarding/parser.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    FrameCheck()       frame_check;
    Partition()        partition;
    Route()            route;
    ToController()     to_controller;
    Drop()             drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            statistics_access.apply(hdr, meta, std);
            frame_check.apply(hdr.ipv4, hdr.kv.isValid(), meta, std);
            if (meta.drop_reason == KEEP && hdr.kv.isValid()) {
                partition.apply(hdr, meta);
            }
            if (meta.drop_reason == KEEP) {
                route.apply(hdr, meta, std);
            }
            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            }
        }
        to_controller.apply(hdr, std);
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
