#include "../types.p4"
parser P(packet_in p, out byte_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h); transition accept; }
}
control V(inout byte_t h, inout meta_t m) { apply { } }
control I(inout byte_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control U(inout byte_t h, inout meta_t m) { apply { } }
control D(packet_out p, in byte_t h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), I(), U(), D()) main;
