/* NetCache: the switch answers reads of hot keys (write-through; rules in docs/wire-format.md).
 *
 * Reads of valid entries turn round in the switch. Everything else goes on to the owner of its key,
 * with a mark if the key is cached. Servers and controller keep the cache by frames of their own.
 */
#include <core.p4>
#include <v1model.p4>

#define NETKV_CACHE
#include "include/protocol.p4"
#include "include/cache_protocol.p4"
#include "include/headers.p4"

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    kv_t         kv;
    mark_t       mark;
    chunk_t[8]   value; // value[i] belongs to array i
}

struct metadata_t {
    bit<8>  drop_reason;
    bit<32> key_hash;
    bool    answered;      // turned round: needs no owner
    // the entry of the key
    bool    cached;
    bit<32> entry;
    bit<32> row;
    bit<8>  bitmap;
    bit<32> generation;
    bit<32> version;
    bool    readable;      // a GET of a valid entry
    bool    same_entry;    // an UPDATE for this generation
    bool    refreshed;     // … that brings the latest value
    bit<16> value_bytes;
    // statistics
    bool    sampled;
    bit<16> epoch;
    bit<16> hits;
    bit<16> hot_threshold;
    bit<16> estimate;
    bool    unreported;
}

/* A request that a cache entry has a part in: not a reply, and not between controller and server. */
bool concerns_cache(in bit<8> op) {
    return op[0:0] == 0 && op[7:4] != OPS_OF_CONTROLLER;
}

bool is_write(in bit<8> op) {
    return op == OP_PUT || op == OP_DELETE || op == OP_INVALIDATE;
}

#include "include/parser.p4"
#include "include/checksum.p4"
#include "include/check.p4"
#include "include/lookup.p4"
#include "include/lot.p4"
#include "include/sampling.p4"
#include "include/epoch.p4"
#include "include/hits.p4"
#include "include/validity.p4"
#include "include/values.p4"
#include "include/mark.p4"
#include "include/answer.p4"
#include "include/sketch_row.p4"
#include "include/hot_keys.p4"
#include "include/partition.p4"
#include "include/route.p4"
#include "include/controller_port.p4"
#include "include/drop.p4"
#include "include/egress.p4"
#include "include/deparser.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Check()        check;
    Lookup()       lookup;
    Sampling()     sampling;
    Epoch()        epoch;
    Hits()         hits;
    Validity()     validity;
    Values()       values;
    HotKeys()      hot_keys;
    Answer()       answer;
    Mark()         mark;
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
                if (concerns_cache(hdr.kv.op)) {
                    lookup.apply(hdr, meta);
                    if (hdr.kv.op == OP_GET) {
                        sampling.apply(hdr, meta);
                    }
                    if (meta.sampled || hdr.kv.op[7:4] == OPS_OF_STATISTICS) {
                        epoch.apply(hdr, meta);
                    }
                    if (meta.cached) {
                        if (meta.sampled || hdr.kv.op == OP_STATS) {
                            hits.apply(hdr, meta);
                        }
                        validity.apply(hdr, meta);
                        if (meta.readable || meta.refreshed) {
                            values.apply(hdr, meta);
                        }
                    } else if (meta.sampled) {
                        hot_keys.apply(hdr, meta);
                    }
                    answer.apply(hdr, meta);
                    if (!meta.answered) {
                        mark.apply(hdr, meta);
                    }
                }
                if (!meta.answered) {
                    partition.apply(hdr, meta);
                }
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
