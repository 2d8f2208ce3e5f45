/* DistCache, the switch of clients: it sends each read to one of the two copies of the key, by the
 * power of two choices (rules in docs/schemes/distcache.md). */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"
#include "write_through/wire.p4"
#include "distcache/wire.p4"

struct headers_t {
    packet_out_t     packet_out;
    packet_in_t      packet_in;
    ethernet_t       ethernet;
    ipv4_t           ipv4;
    udp_t            udp;
    kv_t             kv;
    cache_metadata_t cache_metadata;
    load_t           load;
}
#define CHECKED_FIELDS KV_FIELDS, CACHE_METADATA_FIELDS, LOAD_FIELDS

struct metadata_t {
    bit<8>  drop_reason;
    bit<16> udp_checksum; // written by UpdateChecksums only; 0 before
    bit<32> key_hash;
    // the upper copy of the key
    bool    upper_here;
    bool    upper_known;  // the switch with that copy is in service
    bit<9>  upper_port;   // towards it
    bit<8>  upper_number; // of it
    bool    to_upper;     // a read that is sent to that copy
    // loads
    bit<32> now;          // in units of 1024 us
    bit<32> half_life;
}

#include "common/frame.p4"
#include "common/kv.p4"
#include "common/empty_egress.p4"
#include "distcache/client_parser.p4"
#include "distcache/upper_copy.p4"
#include "distcache/choice.p4"

/* Removes what only switches write: the client gets no load, and no switch takes a client's cache
 * metadata for its own. */
control SwitchHeaders(inout headers_t hdr) {
    bit<16> bytes = 0;

    apply {
        bytes = 0;
        if (hdr.cache_metadata.isValid()) {
            hdr.cache_metadata.setInvalid();
            bytes = bytes + CACHE_METADATA_BYTES;
        }
        if (hdr.load.isValid()) {
            hdr.load.setInvalid();
            bytes = bytes + LOAD_BYTES;
        }
        hdr.kv.flags = hdr.kv.flags & ~(FLAG_CACHE_METADATA | FLAG_UPPER | FLAG_LOAD);
        hdr.ipv4.total_len = hdr.ipv4.total_len - bytes;
        hdr.udp.length = hdr.udp.length - bytes;
    }
}

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    FrameCheck()       frame_check;
    Partition()        partition;
    Choice()           choice;
    SwitchHeaders()    switch_headers;
    Route()            route;
    ToController()     to_controller;
    Drop()             drop;

    bool is_request = false;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            statistics_access.apply(hdr, meta, std);
            frame_check.apply(hdr.ipv4, hdr.kv.isValid(), meta, std);
            if (meta.drop_reason == KEEP && hdr.kv.isValid()) {
                partition.apply(hdr, meta);
                is_request = hdr.kv.op[7:4] == OPS_OF_CLIENTS && hdr.kv.op[0:0] == 0;
                if (is_request || hdr.kv.op == OP_GET_REPLY) {
                    if (hdr.kv.op == OP_GET || hdr.load.isValid()) {
                        choice.apply(hdr, meta, std);
                    }
                    switch_headers.apply(hdr);
                }
            }
            if (meta.to_upper) {
                hdr.kv.flags = hdr.kv.flags | FLAG_UPPER;
                std.egress_spec = meta.upper_port;
            } else if (meta.drop_reason == KEEP) {
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
