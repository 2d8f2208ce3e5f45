#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { for (bit<8> i in 1 .. 2) { m.m = i; } transition accept; }
}
#include "../pipeline.p4"
