#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { recirculate_preserving_field_list(1); }
}
#include "../pipeline.p4"
