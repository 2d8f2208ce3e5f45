/* A frame goes back to its port; the assertion holds unless its second byte is 13. */
#include <core.p4>
#include <v1model.p4>

header pair_t {
    bit<8> first;
    bit<8> second;
}

struct headers_t { pair_t pair; }
struct meta_t { }

parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    state start { p.extract(hdr.pair); transition accept; }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        assert(hdr.pair.second != 13);
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.pair); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
