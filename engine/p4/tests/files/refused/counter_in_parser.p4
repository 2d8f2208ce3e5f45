#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    counter(4, CounterType.packets) c;
    state start { p.extract(h.b); c.count(0); transition accept; }
}
#include "../pipeline.p4"
