/* Constants of docs/internals/wire-format.md that programs share. tests/p4programs/test_numbers.py
 * compares them with engine/wire and with the Python package. */

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
