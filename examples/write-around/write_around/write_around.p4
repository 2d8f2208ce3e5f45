/* Write-around: the switch answers reads of cached keys, and writes go around it to the server. */
#include <core.p4>
#include <v1model.p4>
#include "common/wire.p4"

#ifndef CACHED_BYTES
#define CACHED_BYTES 128
#endif
const bit<8>  FLAG_STAMPED = 0x04;
const bit<16> STAMP_BYTES = 13;
const bit<32> ENTRIES = 65536;

header stamp_t {
    bit<64> sequence;   // which write made the record
    bit<32> generation; // what the read has met in the switch
    bit<8>  bits;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    kv_t         kv;
    stamp_t      stamp;
    chunk_t[8]   value;
}
// What the UDP checksum covers: the fields after the UDP header, in wire order.
#define CHECKED_FIELDS KV_FIELDS, hdr.stamp.sequence, hdr.stamp.generation, hdr.stamp.bits, \
                       VALUE_FIELDS

struct metadata_t {
    bit<8>  drop_reason;
    bit<16> udp_checksum; // written by UpdateChecksums only; 0 before
    bit<32> key_hash;
    bit<32> entry;
    bit<32> generation;
    bool    fills; // an answer whose value goes into the entry
}

#include "common/frame.p4"
#include "common/kv.p4"
#include "common/empty_egress.p4"

parser NetkvParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t std) {
    TransportParser() transport;
    KvParser()        kv;
    bit<16>           udp_port = 0; bit<16> left = 0;

    state start {
        transport.apply(packet, hdr, std, udp_port);
        transition select(udp_port) { NETKV_PORT: parse_kv; default: accept; }
    }
    state parse_kv {
        kv.apply(packet, hdr);
        transition select(hdr.kv.flags[2:2]) { 1: parse_stamp; default: accept; }
    }
    state parse_stamp {
        packet.extract(hdr.stamp);
        left = hdr.kv.length + CHUNK_BYTES - 1;
        transition select(hdr.kv.op, hdr.kv.length) {
            (OP_GET_REPLY, 1 .. CACHED_BYTES): parse_chunk;
            default: accept; // a longer value is payload
        }
    }
    state parse_chunk {
        packet.extract(hdr.value.next);
        left = left - CHUNK_BYTES;
        transition select(left[15:4]) { 0: accept; default: parse_chunk; }
    }
}

/* 16 bytes of the value of each entry. */
control Chunk(inout chunk_t chunk, in metadata_t meta) {
    register<bit<128>>(ENTRIES) cells;
    apply {
        if (meta.fills) {
            cells.write(meta.entry, chunk.data);
        } else {
            chunk.setValid();
            cells.read(chunk.data, meta.entry);
        }
    }
}

control Cache(inout headers_t hdr, inout metadata_t meta) {
    register<bit<64>>(ENTRIES) newest; // the highest sequence that an answer has had
    register<bit<16>>(ENTRIES) length; // bytes of the value; 0: the entry is invalid
    Chunk() chunk0; Chunk() chunk1; Chunk() chunk2; Chunk() chunk3;
    Chunk() chunk4; Chunk() chunk5; Chunk() chunk6; Chunk() chunk7;
    bit<64> sequence = 0;
    bit<16> bytes = 0;

    action cached(bit<32> entry, bit<32> generation) {
        meta.entry = entry;
        meta.generation = generation;
    }
    table entries {
        key = { hdr.kv.key: exact @name("key"); }
        actions = { cached; NoAction; }
        const default_action = NoAction();
        size = 65536;
    }
    action answer() {
        bit<48> mac = hdr.ethernet.dst;
        bit<32> address = hdr.ipv4.dst;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = address;
        hdr.kv.op = OP_GET_REPLY;
        hdr.kv.flags = FLAG_CACHE_HIT;
        hdr.kv.length = bytes;
        hdr.udp.length = UDP_KV_BYTES + ((bytes + CHUNK_BYTES - 1) & 0xFFF0);
        hdr.ipv4.total_len = IPV4_BYTES + hdr.udp.length;
    }
    action mark() {
        hdr.stamp.setValid();
        hdr.stamp = { 0, meta.generation, 0 };
        hdr.kv.flags = FLAG_STAMPED;
        hdr.udp.length = hdr.udp.length + STAMP_BYTES;
        hdr.ipv4.total_len = hdr.ipv4.total_len + STAMP_BYTES;
    }
    apply {
        if (entries.apply().miss) { return; }
        if (hdr.kv.op == OP_GET) {
            length.read(bytes, meta.entry);
            if (bytes != 0) { answer(); } else { mark(); }
        } else if (hdr.kv.op == OP_PUT || hdr.kv.op == OP_DELETE) {
            length.write(meta.entry, 0); // rule 1
        } else if (hdr.stamp.isValid()) {
            newest.read(sequence, meta.entry);
            if (hdr.stamp.sequence > sequence) { // rule 2
                newest.write(meta.entry, hdr.stamp.sequence);
                length.write(meta.entry, 0);
            }
            if (hdr.value[0].isValid() && hdr.stamp.sequence >= sequence
                && hdr.stamp.generation == meta.generation) { // rule 3
                meta.fills = true;
                bytes = hdr.kv.length;
                length.write(meta.entry, bytes);
            }
        }
        if (bytes > 0)   { chunk0.apply(hdr.value[0], meta); }
        if (bytes > 16)  { chunk1.apply(hdr.value[1], meta); }
        if (bytes > 32)  { chunk2.apply(hdr.value[2], meta); }
        if (bytes > 48)  { chunk3.apply(hdr.value[3], meta); }
        if (bytes > 64)  { chunk4.apply(hdr.value[4], meta); }
        if (bytes > 80)  { chunk5.apply(hdr.value[5], meta); }
        if (bytes > 96)  { chunk6.apply(hdr.value[6], meta); }
        if (bytes > 112) { chunk7.apply(hdr.value[7], meta); }
    }
}

control NetkvIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    FrameCheck()   frame_check;
    Cache()        cache;
    Partition()    partition;
    Route()        route;
    ToController() to_controller;
    Drop()         drop;

    apply {
        frame_check.apply(hdr.ipv4, hdr.kv.isValid(), meta, std);
        if (meta.drop_reason == KEEP && hdr.kv.isValid()) {
            cache.apply(hdr, meta);
            partition.apply(hdr, meta); // of what is still for the service
        }
        if (meta.drop_reason == KEEP) { route.apply(hdr, meta, std); }
        if (meta.drop_reason != KEEP) { drop.apply(meta, std); }
        to_controller.apply(hdr, std);
    }
}

control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;
    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.stamp);
        packet.emit(hdr.value);
    }
}

V1Switch(NetkvParser(), VerifyChecksums(), NetkvIngress(), NetkvEgress(), UpdateChecksums(),
         NetkvDeparser()) main;
