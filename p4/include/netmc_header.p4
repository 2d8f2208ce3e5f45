/* The netmc header (NetMC, Fig. 4), and behind SRV the id of the switch that is to split. */
#ifndef NETKV_NETMC_HEADER_P4
#define NETKV_NETMC_HEADER_P4

header netmc_t {
    bit<8>  op;
    bit<32> id;
    bit<8>  oid;      // the key group, from 1
    bit<8>  numkey;
    bit<16> keyidx;   // a bit for each key, the first on top; 1: the last of its group
    bit<8>  startidx; // the group's first key
    bit<8>  clo;      // 1: cloned
#define SRV(i) bit<8> srv_##i; // server of group i
#include "netmc_srv.p4"
#undef SRV
    bit<8>  rack;
}

#endif
