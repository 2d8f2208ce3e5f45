#include "../types.p4"
#define OWN_INGRESS
@p4runtime_translation("example/flag", bool)
type bit<8> flag_t;
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {  }
}
#include "../pipeline.p4"
