#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        tuple<bit<8>, bit<8>> ahead = p.lookahead<tuple<bit<8>, bit<8>>>();
        m.m = ahead[1];
        transition accept;
    }
}
#include "../pipeline.p4"
