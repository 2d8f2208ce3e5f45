/* Constants and headers of docs/internals/wire-format.md that programs share. A program lists the
 * headers that it uses in its headers_t. tests/p4programs/test_numbers.py compares the constants
 * with engine/wire and with the Python package. */

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> NETKV_PORT = 5008;
const bit<32> SERVICE_ADDRESS = 0x0A000064; // 10.0.0.100
const bit<9> CPU_PORT = 510;
const bit<9> LOOP_PORT = 508; // recirculates to pipeline 0, also if there are several pipelines

const bit<32> RECIRCULATED = 4; // instance_type of v1model

const bit<8> FORMAT = 1;

const bit<8> OP_GET = 0x00;
const bit<8> OP_GET_REPLY = 0x01;
const bit<8> OP_PUT = 0x02;
const bit<8> OP_DELETE = 0x04;

const bit<4> OPS_OF_CLIENTS = 0x0; // op[7:4]: sender and receiver
const bit<4> OPS_OF_STATISTICS = 0x3;

const bit<8> FLAG_CACHE_METADATA = 0x01; // cache metadata follows the kv header
const bit<8> FLAG_CACHE_HIT = 0x02;

const bit<8> STATUS_OK = 0;
const bit<8> STATUS_STALE = 2;

const bit<32> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_KV_BYTES = 36; // UDP and kv header
const bit<32> PACKET_OUT_BYTES = 2;
const bit<16> CHUNK_BYTES = 16;

/* Reason of a drop: index of the counter NetkvIngress.drop.reasons. */
const bit<8> KEEP = 0;
const bit<8> DROP_MALFORMED = 1;
const bit<8> DROP_NOT_IPV4 = 2;
const bit<8> DROP_NO_OWNER = 3;
const bit<8> DROP_NO_ROUTE = 4;
const bit<8> DROP_FORBIDDEN = 5;
const bit<8> DROP_CLOSED = 6;
const bit<8> DROP_LATE = 7;
const bit<8> DROP_NOT_SPLIT = 8;
const bit<32> DROP_REASONS = 9;

/* Headers. The macro ..._FIELDS after a header has its fields in wire order, for the UDP
 * checksum. */

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
