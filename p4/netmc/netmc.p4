/* NetMC: the switch splits a multiget request into one sub-request for each server that has keys of
 * it (Algorithm 2; docs/schemes/netmc.md). The switch keeps no state. The header holds the keys
 * that are left, and a clone of the request is recirculated for each further group of keys. */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"
#include "netmc/wire.p4"

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
    bit<16> udp_checksum; // written by UpdateChecksums only; 0 before
    bool    received;     // at a port, not from this switch
    bool    recirculates;
    bool    splits;
    bool    cloned;
    bit<9>  port;  // of the server of the current group
    bit<16> group; // the multicast group of that server
}

#include "common/frame.p4"
#include "netmc/parser.p4"
#include "netmc/split.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    SplitterId()   splitter_id;
    NextGroup()    next_group;
    KeyGroup()     key_group;
    Addressing()   addressing;
    SubRequest()   sub_request;
    Route()        route;
    FrameCheck()   frame_check;
    ToController() to_controller;
    Drop()         drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            if (hdr.netmc.isValid()) {
                splitter_id.apply(hdr, meta, std);
            }
            if (meta.splits) {
                next_group.apply(hdr);
                key_group.apply(hdr);
                addressing.apply(hdr, meta);
                sub_request.apply(hdr, meta, std);
            } else {
                route.apply(hdr, meta, std);
            }
            // The check does not depend on the steps above, so a chip can run it at the same time.
            frame_check.apply(hdr.ipv4, hdr.netmc.isValid(), meta, std);
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
