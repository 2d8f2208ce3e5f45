#include "../types.p4"
#define OWN_INGRESS
value_set<bit<8>>(4) vs;
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
