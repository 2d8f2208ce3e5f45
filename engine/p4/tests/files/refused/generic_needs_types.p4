#include "../types.p4"
#define OWN_INGRESS
struct pair_t<T> { T a; T b; }
struct use_t { pair_t p; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
