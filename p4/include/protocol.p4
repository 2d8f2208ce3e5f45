/* The numbers of docs/wire-format.md that every program needs. tests/p4programs/test_numbers.py holds
 * them against engine/wire and netkv/control/messages.py. */
#ifndef NETKV_PROTOCOL_P4
#define NETKV_PROTOCOL_P4

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> NETKV_PORT = 5008;
const bit<32> SERVICE_ADDRESS = 0x0A000064; // 10.0.0.100
const bit<9> CPU_PORT = 510;

const bit<8> FORMAT = 1;

const bit<4> OPS_OF_STATISTICS = 0x3; // op[7:4]: who asks whom

const bit<32> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_KV_BYTES = 36; // UDP and kv header
const bit<32> PACKET_OUT_BYTES = 2;

/* Why a frame is dropped: index of the counter NetkvIngress.drop.reasons. */
const bit<8> KEEP = 0;
const bit<8> DROP_MALFORMED = 1;
const bit<8> DROP_NOT_IPV4 = 2;
const bit<8> DROP_NO_OWNER = 3;
const bit<8> DROP_NO_ROUTE = 4;
const bit<8> DROP_FORBIDDEN = 5;
const bit<32> DROP_REASONS = 6;

#endif
