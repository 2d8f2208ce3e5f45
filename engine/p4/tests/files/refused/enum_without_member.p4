#include "../types.p4"
#define OWN_INGRESS
enum Nothing { }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
