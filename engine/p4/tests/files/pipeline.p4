// The blocks of V1Switch that a test does not define itself (it defines OWN_PARSER and so on).
#ifndef OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.b); transition accept; }
}
#endif
#ifndef OWN_VERIFY
control V(inout headers_t h, inout meta_t m) { apply { } }
#endif
#ifndef OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
#endif
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
#ifndef OWN_COMPUTE
control U(inout headers_t h, inout meta_t m) { apply { } }
#endif
#ifndef OWN_DEPARSER
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
#endif
V1Switch(P(), V(), I(), E(), U(), D()) main;
