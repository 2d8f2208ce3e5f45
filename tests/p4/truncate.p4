// What 'truncate' does to a packet, its copies, and its checksum. The answers in truncate.stf follow
// from bmv2's packet buffer: the limit of a packet cuts what is transmitted; a copy has the last bytes
// of its original's buffer, and no limit.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8>  op;      // what else is requested
    bit<8>  ingress; // limit set in ingress, 0xff for none
    bit<8>  egress;  // limit set in egress, 0xff for none
    bit<8>  length;  // packet_length of the second pass
    bit<16> sum;
}

struct headers_t { h_t h; }
struct meta_t { }

parser P(packet_in pk, out headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    state start { pk.extract(hdr.h); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply { } }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.instance_type == 4 || std.instance_type == 6) {
            std.egress_spec = 2;
            hdr.h.op = 0;
            hdr.h.length = (bit<8>) std.packet_length;
        } else {
            if (hdr.h.ingress != 0xff) { truncate((bit<32>) hdr.h.ingress); }
            if (hdr.h.op == 1) { std.mcast_grp = 1; }
            if (hdr.h.op == 2) { clone(CloneType.I2E, 5); }
            if (hdr.h.op == 4) { resubmit_preserving_field_list(0); }
        }
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    apply {
        if (hdr.h.isValid() && std.instance_type != 2) {
            if (hdr.h.egress != 0xff) { truncate((bit<32>) hdr.h.egress); }
            if (hdr.h.op == 3) { clone(CloneType.E2E, 5); }
            if (hdr.h.op == 5) { recirculate_preserving_field_list(0); }
        }
    }
}

control C(inout headers_t hdr, inout meta_t m) {
    apply {
        update_checksum_with_payload(hdr.h.op == 6, { hdr.h.op, hdr.h.ingress }, hdr.h.sum,
                                     HashAlgorithm.csum16);
    }
}

control D(packet_out pk, in headers_t hdr) { apply { pk.emit(hdr.h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
