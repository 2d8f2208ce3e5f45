/* FarReach: the switch answers reads and writes of hot keys (write-back; rules in docs/farreach.md).
 *
 * Ingress finds the entry of a key and the owner, whose port leads to the egress pipeline that holds
 * the entry; all state is there. What the switch answers itself leaves egress as a clone.
 */
#include <core.p4>
#include <v1model.p4>

#define NETKV_WRITE_BACK
#include "include/protocol.p4"
#include "include/write_back_protocol.p4"
#include "include/headers.p4"

/* What part a frame has; the parser tells. */
const bit<8> ROLE_NONE = 0;
const bit<8> ROLE_READ = 1;
const bit<8> ROLE_WRITE = 2;
const bit<8> ROLE_REPLY = 3;   // of a server to a client
const bit<8> ROLE_CONTROL = 4; // the controller's message about an entry

/* What outlives a pass. */
enum bit<8> Kept {
    REDIRECTED = 1,
    ORIGINAL = 2
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    kv_t         kv;
    stamp_t      stamp;
    place_t      place;
    chunk_t[8]   value;
}

/* The record that the frame brings. */
struct brought_t {
    bool    fits; // an entry could take it
    bool    deleted;
    bit<16> length;
    bit<8>  chunks;
    bit<32> life;
}

/* The record that the entry held before this frame. */
struct held_t {
    bool    latest;
    bool    dirty;
    bool    deleted;
    bit<16> length;
    bit<8>  chunks;
    bit<32> life;
    bit<32> number;
}

struct metadata_t {
    bit<8>    drop_reason;
    bit<8>    role;
    bit<32>   key_hash;
    // where it comes from, and where an answer goes
    @field_list(Kept.REDIRECTED, Kept.ORIGINAL)
    bit<9>    arrival;
    bit<8>    pipeline;
    bool      redirected;
    bit<9>    answer_port;
    @field_list(Kept.ORIGINAL)
    bit<8>    answer_op;
    @field_list(Kept.ORIGINAL)
    bit<8>    clones;      // still to leave
    // sequence
    @field_list(Kept.ORIGINAL)
    bit<32>   life;
    @field_list(Kept.ORIGINAL)
    bit<32>   number;      // of the write, or of the frame's stamp; 0: from before
    bool      this_life;   // the stamp is of it
    bit<32>   snapshot;    // being taken; 0: none
    // the entry of the key
    bool      cached;
    bit<32>   entry;
    bit<32>   generation;
    bool      ours;        // the entry holds this generation
    bit<8>    validity;
    bool      serving;     // valid or to be evicted
    // what this frame does to it
    bool      filled;
    bool      unseen;      // a write that comes for the first time
    bool      applied;
    bool      repeated;    // a copy of a write that was applied
    bit<32>   slot;        // of the write among those seen
    bool      refreshes;
    bool      outdates;
    bool      original;    // the first write after the snapshot point
    bool      overwritten;
    bool      stores;
    bool      loads;
    bool      answered;    // leaves by answer_port
    brought_t brought;
    held_t    held;
    // statistics
    bit<32>   sample_below;
    bool      sampled;
    bit<16>   epoch;
    bit<16>   hot_threshold;
    bit<32>   swapped_hash;
    bit<16>   estimate;
    bit<16>   count;
    bool      hot;
}

#include "include/numbers.p4"
#include "include/entry_lookup.p4"
#include "include/parser.p4"
#include "include/checksum.p4"
#include "include/check.p4"
#include "include/arrival.p4"
#include "include/settings.p4"
#include "include/snapshot.p4"
#include "include/lot.p4"
#include "include/partition.p4"
#include "include/route.p4"
#include "include/controller_port.p4"
#include "include/drop.p4"
#include "include/life.p4"
#include "include/sequence.p4"
#include "include/state.p4"
#include "include/sketch_row.p4"
#include "include/sketch.p4"
#include "include/frequency.p4"
#include "include/seen.p4"
#include "include/floor.p4"
#include "include/reported.p4"
#include "include/facts.p4"
#include "include/entry_values.p4"
#include "include/entry.p4"
#include "include/record.p4"
#include "include/send_back.p4"
#include "include/write_back_answer.p4"
#include "include/originals.p4"
#include "include/onward.p4"
#include "include/deparser.p4"

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Check()        check;
    Arrival()      arrival;
    Ports()        ports;
    Settings()     settings;
    Snapshot()     snapshot;
    EntryLookup()  lookup;
    Lot()          lot;
    SketchHash()   sketch_hash;
    Partition()    partition;
    Route()        route;
    AnswerPort()   answer_port;
    ToController() to_controller;
    Drop()         drop;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.egress_port != 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            check.apply(hdr, meta, std);
            if (meta.role != ROLE_NONE && meta.role != ROLE_REPLY) {
                hdr.ipv4.dst = SERVICE_ADDRESS; // there is no way past the cache
            }
            if (meta.drop_reason == KEEP && meta.role != ROLE_NONE) {
                arrival.apply(meta, std);
                settings.apply(meta);
                if (meta.role == ROLE_WRITE || meta.role == ROLE_REPLY) {
                    ports.apply(meta, std);
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
                    lot.apply(hdr, meta, meta.sample_below);
                    if (meta.sampled) {
                        sketch_hash.apply(hdr, meta);
                    }
                }
                if (hdr.kv.isValid()) {
                    partition.apply(hdr, meta);
                }
                route.apply(hdr, meta, std);
                answer_port.apply(hdr, meta, std);
            }
            if (meta.drop_reason != KEEP) {
                drop.apply(meta, std);
            }
        }
        to_controller.apply(hdr, std);
    }
}

/* Every array is touched once in a pass, in an order that stages could have; what is decided hangs
 * on what was there before. */
control NetkvEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Life()           life;
    Sequence()       sequence;
    State()          state;
    Sketch()         sketch;
    Frequency()      frequency;
    Seen()           seen;
    Applied()        applied;
    Entry()          entry;
    ReadAnswer()     read_answer;
    WriteAnswer()    write_answer;
    ControlAnswer()  control_answer;
    Original()       original;
    OriginalsClone() originals_clone;
    Onward()         onward;
    SendBack()       send_back;
    Drop()           drop;

    apply {
        if (meta.redirected) {
            recirculate_preserving_field_list(Kept.REDIRECTED);
        } else if (meta.clones != 0) {
            originals_clone.apply(hdr, meta);
        } else if (meta.role != ROLE_NONE) {
            life.apply(hdr, meta);
            if (meta.role == ROLE_WRITE) {
                sequence.apply(meta);
            }
            if (meta.cached) {
                state.apply(hdr, meta);
            }
            if (meta.sampled && !meta.serving) {
                sketch.apply(meta);
            } else if (meta.sampled || meta.filled || (meta.ours && hdr.kv.op == OP_COUNT)) {
                frequency.apply(meta);
            }
            if (meta.role == ROLE_WRITE) {
                seen.apply(hdr, meta);
                if (meta.applied || meta.repeated) {
                    applied.apply(meta);
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
                if (meta.held.latest && meta.role == ROLE_READ) {
                    read_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.applied || meta.repeated) {
                    write_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.role == ROLE_CONTROL) {
                    control_answer.apply(hdr, meta);
                    meta.answered = true;
                } else if (meta.role == ROLE_REPLY) {
                    meta.answered = true; // it goes on to its client as it came
                } else {
                    onward.apply(hdr, meta);
                }
                if (meta.answered) {
                    send_back.apply(hdr, meta, std);
                }
            }
        }
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
