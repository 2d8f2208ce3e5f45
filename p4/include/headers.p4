/* Headers on the wire (docs/wire-format.md). A program lists the ones it uses in its headers_t. */
#ifndef NETKV_HEADERS_P4
#define NETKV_HEADERS_P4

/* By which a frame is one of netkv's. */
#ifdef NETKV_NETMC
#define NETKV_HEADER netmc
#else
#define NETKV_HEADER kv
#endif

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> id;
    bit<16> fragment; // flags (3) and offset (13)
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header kv_t {
    bit<8>   format;
    bit<8>   op;
    bit<8>   flags;
    bit<8>   status;
    bit<16>  length;
    bit<16>  sender;
    bit<32>  request;
    bit<128> key;
}

header mark_t {
    bit<32> generation;
    bit<32> version;
    bit<8>  bitmap;
}

header stamp_t {
    bit<32> life;
    bit<32> number;
    bit<32> generation;
    bit<8>  bits;
}

header place_t {
    bit<16> entry;
    bit<32> number;
}

header chunk_t {
    bit<128> data;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

#endif
