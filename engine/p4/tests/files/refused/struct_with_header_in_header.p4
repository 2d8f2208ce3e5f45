#include "../types.p4"
#define OWN_INGRESS
struct inner_t { byte_t b; }
header wrong_t { inner_t i; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
