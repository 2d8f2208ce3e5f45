/* Splitting a multiget request: Algorithm 2 of NetMC, one control for each of its steps. */

/* Whether the frame is a request that this switch must split. Only the switch of the storage rack
 * splits, so a request names that switch (NetMC, section III-G). A switch without servers has no
 * id. */
control SplitterId(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action split() {
        meta.splits = true;
    }

    table splitter_id {
        key = { hdr.netmc.rack: exact @name("rack"); }
        actions = { split; NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    apply {
        if (std.instance_type == RECIRCULATED) {
            split(); // only the rest of a request is recirculated
        } else if (hdr.netmc.clo == 0 && hdr.netmc.op >= OP_MGET && hdr.netmc.op <= OP_MDELETE) {
            // A cloned frame that arrives from outside is a sub-request of another switch.
            splitter_id.apply();
            if (meta.splits && (hdr.netmc.numkey == 0 || hdr.netmc.numkey > MAX_KEYS
                                || hdr.netmc.keyidx == 0 || hdr.netmc.oid != FIRST_OID
                                || hdr.netmc.startidx != 0)) {
                meta.drop_reason = DROP_NOT_SPLIT;
            }
        }
    }
}

/* Turns a recirculated clone to the next key group (Algorithm 2, lines 1 to 4). */
control NextGroup(inout headers_t hdr) {
    apply {
        if (hdr.netmc.clo == 1) {
            hdr.netmc.oid = hdr.netmc.oid + 1;
            hdr.netmc.startidx = hdr.netmc.startidx + hdr.netmc.numkey;
        }
    }
}

/* The keys of the current group (Algorithm 2, lines 5 to 7). The group ends at the first 1 in
 * KEYIDX. A switch has no loop, so comparisons with constants find that bit. */
control KeyGroup(inout headers_t hdr) {
    action group_of(bit<8> keys) {
        hdr.netmc.keyidx = hdr.netmc.keyidx << keys;
        hdr.netmc.numkey = keys;
    }

    apply {
        // KEYIDX 0 is no request and is dropped.
        if (hdr.netmc.keyidx >= 1 << (NETMC_KEYS - 1)) {
            group_of(1);
        }
#define KEYS(n) else if (hdr.netmc.keyidx >= 1 << (NETMC_KEYS - n)) { group_of(n); }
#include "netmc/group_sizes.p4"
#undef KEYS
        else if (hdr.netmc.keyidx >= 1) {
            hdr.netmc.keyidx = 0; // not by a shift: it would be as wide as the field
            hdr.netmc.numkey = NETMC_KEYS;
        }
    }
}

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

/* Sends the sub-request of the current group (Algorithm 2, lines 9 to 13). If keys are left, the
 * replication engine clones the request: the multicast group of a server has two copies, one to the
 * server and one to the recirculation port. */
control SubRequest(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.netmc.keyidx > 0) {
            hdr.netmc.clo = 1; // set before the frame is cloned, so the sub-request has it too
            meta.cloned = true;
            std.mcast_grp = meta.group;
        } else {
            std.egress_spec = meta.port;
        }
    }
}

/* Recirculates the clone with the rest of a request. Every pass removes at least one 1 from KEYIDX,
 * so recirculation ends. */
control Recirculation(inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (meta.cloned && std.egress_port == LOOP_PORT) {
            meta.recirculates = true;
            recirculate_preserving_field_list(0); // no fields: the header has all state
        }
    }
}
