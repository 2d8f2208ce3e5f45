/* A switch of a chain. TAIL is defined for the last one. It has the sketch and the counters of
 * requests, and only it answers requests.
 *
 * Ingress looks up the owner and the entry of the key. All other state is in egress, as in
 * FarReach. A frame whose direction changes leaves egress as a clone. */
#include <core.p4>
#include <v1model.p4>

#include "common/wire.p4"
#include "write_back/wire.p4"

struct headers_t {
    packet_out_t    packet_out;
    packet_in_t     packet_in;
    ethernet_t      ethernet;
    ipv4_t          ipv4;
    udp_t           udp;
    kv_t            kv;
    version_stamp_t version_stamp;
    slot_t          slot;
    chunk_t[8]      value;
}
#define CHECKED_FIELDS KV_FIELDS, VERSION_STAMP_FIELDS, SLOT_FIELDS, VALUE_FIELDS

#include "distreach/metadata.p4"
#include "common/frame.p4"
#include "common/kv.p4"
#include "common/statistics.p4"
#include "write_back/parser.p4"
#include "write_back/sequence.p4"
#include "write_back/entry.p4"
#include "write_back/statistics.p4"
#include "write_back/messages.p4"
#include "distreach/requests.p4"
#include "distreach/chain.p4"
#include "distreach/entry.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    EntryAccess()      entry_access;
    FrameCheck()       frame_check;
    ArrivalPort()      arrival_port;
    Settings()         settings;
    KeyHash()          key_hash;
    Partition()        partition;
    Chain()            chain;
    EntryLookup()      lookup;
    Mode()             mode;
#ifdef TAIL
    Sampler()          sampler;
    SketchHash()       sketch_hash;
#endif
    Route()            route;
    ReplyPort()        reply_port;
    ToController()     to_controller;
    Drop()             drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            statistics_access.apply(hdr, meta, std);
            entry_access.apply(hdr, meta, std);
            frame_check.apply(hdr.ipv4, hdr.kv.isValid(), meta, std);
            if (meta.drop_reason == KEEP) {
                if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
                    key_hash.apply(hdr, meta);
                }
                if (hdr.kv.isValid()) {
                    partition.apply(hdr, meta);
                }
                if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
                    chain.apply(hdr, meta);
                }
                if (meta.role != ROLE_NONE) {
                    arrival_port.apply(meta, std);
                    settings.apply(meta);
                    lookup.apply(hdr, meta);
                    mode.apply(meta);
                }
#ifdef TAIL
                if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
                    sampler.apply(hdr, meta, meta.sample_below);
                    if (meta.sampled) {
                        sketch_hash.apply(hdr, meta);
                    }
                }
#endif
            }
            if (meta.drop_reason == KEEP) {
                route.apply(hdr, meta, std);
                reply_port.apply(hdr, meta, std);
            }
            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            }
        }
        to_controller.apply(hdr, std);
    }
}

/* A pass accesses every register array once. Decisions depend on the state before the frame. */
control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Incarnation()     incarnation;
    Sequence()        sequence;
    Dedup()           dedup;
    AppliedSequence() given_sequence;
    EntryState()      entry_state;
    Entry()           entry;
    ControlAnswer()   control_answer;
#ifdef TAIL
    Sketch()          sketch;
    Frequency()       frequency;
    ReadAnswer()      read_answer;
    WriteAnswer()     write_answer;
    ForwardToServer() forward_to_server;
#else
    ChainStamp()      chain_stamp;
#endif
    Reflect()         reflect;
    Drop()            drop;

    apply {
        if (meta.role != ROLE_NONE) {
            incarnation.apply(hdr, meta);
            if (meta.cached) {
                entry_state.apply(hdr, meta);
            }
            if (meta.head && meta.role == ROLE_WRITE) {
                sequence.apply(meta);
                dedup.apply(hdr, meta);
                if (meta.first_copy || meta.repeated) {
                    given_sequence.apply(meta);
                }
            }
#ifdef TAIL
            meta.answers_reads = meta.role == ROLE_READ;
            if (meta.sampled && !meta.serving) {
                sketch.apply(meta);
            } else if (meta.sampled || meta.filled
                       || (meta.same_generation && hdr.kv.op == OP_COUNT)) {
                frequency.apply(meta);
            }
#endif
            if (meta.drop_reason == KEEP) {
                if (meta.cached) {
                    entry.apply(hdr, meta);
                } else {
                    meta.storable = false;
                }
            }

            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            } else if (meta.role == ROLE_CONTROL) {
                control_answer.apply(hdr, meta);
                reflect.apply(hdr, meta, std);
            } else if (meta.role == ROLE_REPLY) {
                reflect.apply(hdr, meta, std); // the reply continues to its client unchanged
            } else {
#ifdef TAIL
                if (meta.role == ROLE_WRITE) {
                    meta.incarnation = meta.own_incarnation;
                }
                if (meta.answers_reads && meta.stored.latest) {
                    read_answer.apply(hdr, meta);
                    reflect.apply(hdr, meta, std);
                } else if (meta.applied || meta.covered) {
                    write_answer.apply(hdr, meta);
                    reflect.apply(hdr, meta, std);
                } else {
                    forward_to_server.apply(hdr, meta);
                }
#else
                chain_stamp.apply(hdr, meta);
#endif
            }
        }
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
