/* NoCache: requests reach the owner of their key, replies go back. The baseline of every figure. */
#include <core.p4>
#include <v1model.p4>

#include "include/protocol.p4"
#include "include/headers.p4"

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    kv_t         kv;
}

struct metadata_t {
    bit<8>  drop_reason;
    bit<32> key_hash;
}

#include "include/parser.p4"
#include "include/checksum.p4"
#include "include/check.p4"
#include "include/partition.p4"
#include "include/route.p4"
#include "include/controller_port.p4"
#include "include/drop.p4"
#include "include/egress.p4"
#include "include/deparser.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Check()        check;
    Partition()    partition;
    Route()        route;
    ToController() to_controller;
    Drop()         drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            check.apply(hdr, meta, std);
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
