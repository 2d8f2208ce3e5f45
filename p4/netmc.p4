/* NetMC: the switch splits a multiget request into one for each server that has keys of it
 * (Algorithm 2; docs/netmc.md). It keeps no state: what is still to be done is in the header, and a
 * clone of the request comes round for each further group of keys.
 */
#include <core.p4>
#include <v1model.p4>

#define NETKV_NETMC
#include "include/protocol.p4"
#include "include/netmc_protocol.p4"
#include "include/headers.p4"
#include "include/netmc_header.p4"

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    netmc_t      netmc;
}

struct metadata_t {
    bit<8>  drop_reason;
    bool    splits;
    bool    cloned;
    bit<9>  port;  // of the group's server
    bit<16> group; // its multicast group
}

#include "include/parser.p4"
#include "include/checksum.p4"
#include "include/check.p4"
#include "include/own_id.p4"
#include "include/key_group.p4"
#include "include/addressing.p4"
#include "include/sub_request.p4"
#include "include/route.p4"
#include "include/controller_port.p4"
#include "include/drop.p4"
#include "include/deparser.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    OwnId()        own_id;
    NextGroup()    next_group;
    KeyGroup()     key_group;
    Addressing()   addressing;
    SubRequest()   sub_request;
    Route()        route;
    Check()        check;
    ToController() to_controller;
    Drop()         drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            if (hdr.netmc.isValid()) {
                own_id.apply(hdr, meta, std);
            }
            if (meta.splits) {
                next_group.apply(hdr);
                key_group.apply(hdr);
                addressing.apply(hdr, meta);
                sub_request.apply(hdr, meta, std);
            } else {
                route.apply(hdr, meta, std);
            }
            // It has the last word, and nothing waits for it: a chip does all this at once.
            check.apply(hdr, meta, std);
            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            }
        }
        to_controller.apply(hdr, std);
    }
}

control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Recirculation() recirculation;

    apply {
        recirculation.apply(meta, std);
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
