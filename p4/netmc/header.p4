/* The netmc header (NetMC, Fig. 4). The last field is the id of the switch that splits the
 * request. */

header netmc_t {
    bit<8>  op;
    bit<32> id;
    bit<8>  oid;      // the key group, from 1
    bit<8>  numkey;   // keys of the group
    bit<16> keyidx;   // one bit for each key, the first key on top; 1: the last key of its group
    bit<8>  startidx; // the first key of the group
    bit<8>  clo;      // 1: cloned
#define SRV(i) bit<8> srv_##i; // server of group i
#include "netmc/srv_fields.p4"
#undef SRV
    bit<8>  rack;
}
