#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) vs;
    apply {  }
}
#include "../pipeline.p4"
