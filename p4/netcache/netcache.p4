/* NetCache: the switch answers reads of hot keys (write-through; rules in
 * docs/schemes/netcache.md).
 *
 * The switch reflects reads of valid entries. It forwards all other requests to the owner of their
 * key and adds the cache metadata if the key is cached. Servers and controller maintain the cache
 * with messages of their own. */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"
#include "write_through/wire.p4"

const bit<8> KEPT_FLAGS = 0; // in replies of the switch

struct headers_t {
    packet_out_t     packet_out;
    packet_in_t      packet_in;
    ethernet_t       ethernet;
    ipv4_t           ipv4;
    udp_t            udp;
    kv_t             kv;
    cache_metadata_t cache_metadata;
    chunk_t[8]       value; // value[i] belongs to array i
}
#define CHECKED_FIELDS KV_FIELDS, CACHE_METADATA_FIELDS, VALUE_FIELDS

struct metadata_t {
    bit<8>  drop_reason;
    bit<16> udp_checksum;  // written by UpdateChecksums only; 0 before
    bit<32> key_hash;
    bool    answered;      // reflected, so it needs no owner
    // the entry of the key
    bool    cached;
    bit<32> entry;
    bit<32> row;
    bit<8>  bitmap;
    bit<32> generation;
    bit<32> version;
    bool    readable;      // a GET of a valid entry
    bool    same_entry;    // an UPDATE for this generation
    bool    refreshed;     // an UPDATE with the latest value
    bit<16> reply_bytes;   // UDP length of a reply of the switch
    // statistics
    bool    sampled;
    bit<16> epoch;
    bit<16> hits;
    bit<16> hot_threshold;
    bit<16> estimate;
    bool    unreported;
}

#include "common/frame.p4"
#include "common/kv.p4"
#include "common/statistics.p4"
#include "common/empty_egress.p4"
#include "write_through/parser.p4"
#include "write_through/entry.p4"
#include "write_through/statistics.p4"
#include "write_through/hot_keys.p4"
#include "write_through/messages.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    FrameCheck()       frame_check;
    CacheLookup()      lookup;
    ReadSampling()     sampling;
    StatisticsEpoch()  epoch;
    HitCounter()       hits;
    Validity()         validity;
    ValueArrays()      values;
    HotKeys()          hot_keys;
    Answer()           answer;
    CacheMetadata()    cache_metadata;
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
                        cache_metadata.apply(hdr, meta);
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

/* Emits the headers in wire order. */
control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.cache_metadata);
        packet.emit(hdr.value);
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
