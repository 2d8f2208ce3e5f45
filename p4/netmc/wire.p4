/* Constants of docs/internals/wire-format.md, "Multiget frames", and the netmc header. */

/* SRV fields of the header, one for each server of a rack. All switches, clients and servers must
 * agree. */
#ifndef NETMC_SERVERS
#define NETMC_SERVERS 8
#endif
#if NETMC_SERVERS < 1 || NETMC_SERVERS > 32
#error NETMC_SERVERS, the number of SRV fields, is 1 to 32.
#endif

/* Bits of KEYIDX, and so keys of a request that the switch splits: 16 in the paper. All switches,
 * clients and servers must agree. */
#ifndef NETMC_KEYS
#define NETMC_KEYS 16
#endif
#if NETMC_KEYS != 16 && NETMC_KEYS != 32 && NETMC_KEYS != 64 && NETMC_KEYS != 128
#error NETMC_KEYS, the number of bits of KEYIDX, is 16, 32, 64 or 128.
#endif

const bit<16> NETMC_PORT = 5009;

const bit<8> OP_MGET = 1; // the first request op
const bit<8> OP_MDELETE = 4; // the last request op

const bit<8> MAX_KEYS = NETMC_KEYS; // of a request
const bit<8> FIRST_OID = 1;

const bit<16> UDP_NETMC_BYTES = 18 + NETMC_KEYS / 8 + NETMC_SERVERS; // UDP and netmc header

/* The netmc header (NetMC, Fig. 4). The last field is the id of the switch that splits the
 * request. */

header netmc_t {
    bit<8>  op;
    bit<32> id;
    bit<8>  oid;      // the key group, from 1
    bit<8>  numkey;   // keys of the group
    bit<NETMC_KEYS> keyidx; // a bit for each key, the first on top; 1: the last of its group
    bit<8>  startidx; // the first key of the group
    bit<8>  clo;      // 1: cloned
#define SRV(i) bit<8> srv_##i; // server of group i
#include "netmc/srv_fields.p4"
#undef SRV
    bit<8>  rack;
}
