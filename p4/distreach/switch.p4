/* A switch of a chain. TAIL is defined for the last one. It has the sketch and the counters of
 * requests, and only it answers requests.
 *
 * Ingress looks up the owner and the entry of the key. All other state is in egress, as in
 * FarReach. A frame whose direction changes leaves egress as a clone. */
#include <core.p4>
#include <v1model.p4>

#include "common/protocol.p4"
#include "common/headers.p4"
#include "write_back/protocol.p4"
#include "write_back/headers.p4"
#include "distreach/protocol.p4"

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
#include "common/transport_parser.p4"
#include "common/kv_parser.p4"
#include "write_back/value_parser.p4"
#include "write_back/parser.p4"
#include "common/kv_checksum.p4"
#include "write_back/serial_numbers.p4"
#include "write_back/entry_lookup.p4"

// Ingress
#include "common/statistics_access.p4"
#include "write_back/entry_access.p4"
#include "common/frame_check.p4"
#include "write_back/arrival_port.p4"
#include "distreach/settings.p4"
#include "distreach/key_hash.p4"
#include "common/partition.p4"
#include "distreach/chain.p4"
#include "distreach/mode.p4"
#include "common/sampler.p4"
#include "write_back/sketch_hash.p4"
#include "common/route.p4"
#include "write_back/reply_port.p4"
#include "common/to_controller.p4"
#include "common/drop.p4"

// Egress: version, statistics, deduplication
#include "distreach/incarnation.p4"
#include "write_back/sequence.p4"
#include "write_back/entry_state.p4"
#include "common/sketch_row.p4"
#include "write_back/sketch.p4"
#include "write_back/frequency.p4"
#include "distreach/dedup.p4"
#include "write_back/applied_sequence.p4"

// Egress: the record of the entry
#include "distreach/max_sequence.p4"
#include "write_back/entry_flags.p4"
#include "distreach/record_sequence.p4"
#include "write_back/entry_array.p4"
#include "write_back/entry_values.p4"
#include "distreach/entry.p4"

// Egress: what leaves
#include "write_back/stored_record.p4"
#include "write_back/record_report.p4"
#include "write_back/remove_value.p4"
#include "write_back/reply_address.p4"
#include "write_back/read_answer.p4"
#include "write_back/write_answer.p4"
#include "write_back/control_answer.p4"
#include "write_back/forward_to_server.p4"
#include "distreach/chain_stamp.p4"
#include "write_back/reflect.p4"
#include "common/transport_deparser.p4"
#include "write_back/deparser.p4"

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
