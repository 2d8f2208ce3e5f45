#include <core.p4>
#include <v1model.p4>
header var_t { bit<8> n; varbit<64> v; }
struct headers_t { var_t[2] vs; }
struct meta_t { }
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.vs.next, 16); transition accept; }
}
#include "../pipeline.p4"
