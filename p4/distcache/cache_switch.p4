/* A switch with a cache. UPPER_LAYER is defined for the upper layer, which caches the keys of one
 * range; a switch of the last layer caches keys of its servers.
 *
 * The last layer is that of NetCache: it follows the writes that pass. A write need not pass the
 * switch of the upper copy, so that one follows messages of the servers only. */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"
#include "write_through/wire.p4"
#include "distcache/wire.p4"

const bit<8> KEPT_FLAGS = FLAG_UPPER; // in replies of this switch

struct headers_t {
    packet_out_t     packet_out;
    packet_in_t      packet_in;
    ethernet_t       ethernet;
    ipv4_t           ipv4;
    udp_t            udp;
    kv_t             kv;
    cache_metadata_t cache_metadata;
    load_t           load;
    chunk_t[8]       value; // value[i] belongs to array i
}
#define CHECKED_FIELDS KV_FIELDS, CACHE_METADATA_FIELDS, LOAD_FIELDS, VALUE_FIELDS

#include "distcache/metadata.p4"
#include "common/frame.p4"
#include "common/kv.p4"
#include "common/statistics.p4"
#include "common/empty_egress.p4"
#include "write_through/parser.p4"
#include "distcache/upper_copy.p4"
#include "write_through/entry.p4"
#include "write_through/statistics.p4"
#ifndef UPPER_LAYER
#include "write_through/hot_keys.p4"
#endif
#include "write_through/messages.p4"
#include "distcache/load.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    FrameCheck()       frame_check;
    UpperCopy()        upper_copy;
    CacheLookup()      lookup;
    ReadSampling()     sampling;
    StatisticsEpoch()  epoch;
    HitCounter()       hits;
    Validity()         validity;
    ValueArrays()      values;
#ifndef UPPER_LAYER
    HotKeys()          hot_keys;
#endif
    Answer()           answer;
    CacheMetadata()    cache_metadata;
    Load()             load;
    Partition()        partition;
    Route()            route;
    ToController()     to_controller;
    Drop()             drop;

    bool concerned = false; // an entry of this switch serves or follows the frame
    bool upwards = false;   // on its way from a server to the upper copy
    bool refreshes = false; // a read on its way to the server, because the upper copy is invalid

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            statistics_access.apply(hdr, meta, std);
            frame_check.apply(hdr.ipv4, hdr.kv.isValid(), meta, std);
            if (meta.drop_reason == KEEP && hdr.kv.isValid()) {
                concerned = concerns_cache(hdr.kv.op);
                meta.upper = concerned && (hdr.kv.flags & FLAG_UPPER) != 0;
                upwards = meta.upper && hdr.kv.op[7:4] == OPS_OF_SERVERS;
#ifdef UPPER_LAYER
                if (meta.upper) {
                    upper_copy.apply(hdr, meta);
                }
                upwards = upwards && !meta.upper_here;
                concerned = meta.upper_here && (hdr.kv.op == OP_GET
                                                || hdr.kv.op[7:4] == OPS_OF_SERVERS)
                            || concerned && hdr.kv.op[7:4] == OPS_OF_STATISTICS;
#else
                if (upwards) {
                    upper_copy.apply(hdr, meta);
                }
                concerned = concerned && !upwards;
                // Its metadata is that of the upper copy.
                refreshes = meta.upper && hdr.kv.op == OP_GET && hdr.cache_metadata.isValid();
#endif
                if (concerned) {
                    lookup.apply(hdr, meta);
                    if (hdr.kv.op == OP_GET) {
                        sampling.apply(hdr, meta);
                    }
                    if (hdr.kv.op == OP_GET || hdr.kv.op[7:4] == OPS_OF_STATISTICS) {
                        epoch.apply(hdr, meta);
                    }
                    if (meta.cached) {
                        if (meta.sampled || hdr.kv.op == OP_STATS) {
                            hits.apply(hdr, meta);
                        }
                        validity.apply(hdr, meta);
                        meta.readable = meta.readable && !refreshes;
                        if (meta.readable || meta.refreshed) {
                            values.apply(hdr, meta);
                        }
                    }
#ifndef UPPER_LAYER
                    else if (meta.sampled) {
                        hot_keys.apply(hdr, meta);
                    }
#endif
                    answer.apply(hdr, meta);
                    if (meta.readable) {
                        load.apply(hdr, meta);
                    }
                    if (!meta.answered && !refreshes) {
                        cache_metadata.apply(hdr, meta);
                    }
                }
                if (upwards) {
                    std.egress_spec = meta.upper_port;
                    if (!meta.upper_known) {
                        meta.drop_reason = DROP_NO_ROUTE;
                    }
                } else if (!meta.answered) {
                    partition.apply(hdr, meta);
                }
            }
            if (meta.drop_reason == KEEP && !upwards) {
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
        packet.emit(hdr.load);
        packet.emit(hdr.value);
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
