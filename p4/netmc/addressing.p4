/* The address of the server of the current group (Algorithm 2, line 8). */

control Addressing(inout headers_t hdr, inout metadata_t meta) {
    bit<8> server = 0;

#define SRV(i) action srv_##i() { server = hdr.netmc.srv_##i; }
#include "netmc/srv_fields.p4"
#undef SRV

    action to_server(bit<48> mac, bit<32> address, bit<9> port, bit<16> group) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = address;
        meta.port = port;
        meta.group = group;
    }

    action no_server() {
        meta.drop_reason = DROP_NOT_SPLIT;
    }

    /* SrvIDTable. */
    table srv_id {
        key = { hdr.netmc.oid: exact @name("oid"); }
        actions = {
#define SRV(i) srv_##i;
#include "netmc/srv_fields.p4"
#undef SRV
            no_server;
        }
        const default_action = no_server();
        size = NETMC_SERVERS;
    }

    /* AddrTable: servers of this rack. */
    table addr {
        key = { server: exact @name("server"); }
        actions = { to_server; no_server; }
        const default_action = no_server();
        size = 128;
    }

    apply {
        if (srv_id.apply().hit) {
            addr.apply();
        }
    }
}
