/* Headers on the wire (docs/internals/wire-format.md) that programs share. A program lists the
 * headers that it uses in its headers_t. The macro ..._FIELDS after a header has its fields in wire
 * order, for the UDP checksum. */

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

#define KV_FIELDS hdr.kv.format, hdr.kv.op, hdr.kv.flags, hdr.kv.status, hdr.kv.length, \
                  hdr.kv.sender, hdr.kv.request, hdr.kv.key

/* 16 bytes of a value. */
header chunk_t {
    bit<128> data;
}

#define VALUE_FIELDS hdr.value[0].data, hdr.value[1].data, hdr.value[2].data, hdr.value[3].data, \
                     hdr.value[4].data, hdr.value[5].data, hdr.value[6].data, hdr.value[7].data

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
