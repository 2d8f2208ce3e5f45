/* FarReach: the switch answers reads and writes of hot keys (write-back; rules in
 * docs/schemes/farreach.md).
 *
 * Ingress looks up the entry and the owner of the key. The port of the owner leads to the egress
 * pipeline that holds the entry. All other state is in egress. A reply of the switch leaves egress
 * as a clone. */
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

#include "farreach/metadata.p4"
#include "common/frame.p4"
#include "common/kv.p4"
#include "common/statistics.p4"
#include "write_back/parser.p4"
#include "write_back/sequence.p4"
#include "write_back/entry.p4"
#include "write_back/statistics.p4"
#include "write_back/messages.p4"
#include "farreach/requests.p4"
#include "farreach/snapshot.p4"
#include "farreach/entry.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StatisticsAccess() statistics_access;
    EntryAccess()      entry_access;
    FrameCheck()       frame_check;
    ArrivalPort()      arrival_port;
    Settings()         settings;
    IngressPipeline()  ingress_pipeline;
    Snapshot()         snapshot;
    EntryLookup()      lookup;
    Sampler()          sampler;
    SketchHash()       sketch_hash;
    Partition()        partition;
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
            if (meta.role != ROLE_NONE && meta.role != ROLE_REPLY) {
                hdr.ipv4.dst = SERVICE_ADDRESS; // no request bypasses the cache
            }
            if (meta.drop_reason == KEEP && meta.role != ROLE_NONE) {
                arrival_port.apply(meta, std);
                settings.apply(meta);
                if (meta.role == ROLE_WRITE || meta.role == ROLE_REPLY) {
                    ingress_pipeline.apply(meta, std);
                    snapshot.apply(meta, std);
                }
            }
            if (meta.redirected) {
                std.egress_spec = LOOP_PORT;
            } else if (meta.drop_reason == KEEP) {
                if (meta.role != ROLE_NONE) {
                    lookup.apply(hdr, meta);
                }
                if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
                    sampler.apply(hdr, meta, meta.sample_below);
                    if (meta.sampled) {
                        sketch_hash.apply(hdr, meta);
                    }
                }
                if (hdr.kv.isValid()) {
                    partition.apply(hdr, meta);
                }
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

/* A pass accesses every register array once, in an order that stages of a chip can have. Decisions
 * depend on the state before the frame. */
control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Incarnation()     incarnation;
    Sequence()        sequence;
    EntryState()      entry_state;
    Sketch()          sketch;
    Frequency()       frequency;
    Dedup()           dedup;
    AppliedSequence() applied_sequence;
    Entry()           entry;
    ReadAnswer()      read_answer;
    WriteAnswer()     write_answer;
    ControlAnswer()   control_answer;
    Original()        original;
    OriginalClone()   original_clone;
    ForwardToServer() forward_to_server;
    Reflect()         reflect;
    Drop()            drop;

    apply {
        if (meta.redirected) {
            recirculate_preserving_field_list(Kept.REDIRECTED);
        } else if (meta.clones_left != 0) {
            original_clone.apply(hdr, meta);
        } else if (meta.role != ROLE_NONE) {
            incarnation.apply(hdr, meta);
            if (meta.role == ROLE_WRITE) {
                sequence.apply(meta);
            }
            if (meta.cached) {
                entry_state.apply(hdr, meta);
            }
            if (meta.sampled && !meta.serving) {
                sketch.apply(meta);
            } else if (meta.sampled || meta.filled
                       || (meta.same_generation && hdr.kv.op == OP_COUNT)) {
                frequency.apply(meta);
            }
            if (meta.role == ROLE_WRITE) {
                dedup.apply(hdr, meta);
                if (meta.applied || meta.repeated) {
                    applied_sequence.apply(meta);
                }
            }
            if (meta.cached && meta.drop_reason == KEEP) {
                entry.apply(hdr, meta);
            }

            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            } else if (meta.original) {
                original.apply(hdr, meta, std);
            } else {
                if (meta.stored.latest && meta.role == ROLE_READ) {
                    read_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.applied || meta.repeated) {
                    write_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.role == ROLE_CONTROL) {
                    control_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.role == ROLE_REPLY) {
                    meta.answered = true; // the reply continues to its client unchanged
                } else {
                    forward_to_server.apply(hdr, meta);
                }
                if (meta.answered) {
                    reflect.apply(hdr, meta, std);
                }
            }
        }
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
