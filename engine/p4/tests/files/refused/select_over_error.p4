#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    error e;
    state start { p.extract(h.b); transition select(e) { error.NoError: accept; } }
}
#include "../pipeline.p4"
