#define V1MODEL_VERSION 20000101
#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
