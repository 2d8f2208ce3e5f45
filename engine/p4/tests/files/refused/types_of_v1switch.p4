#include "../types.p4"
#define V1Switch V1Switch<meta_t, headers_t>
#include "../pipeline.p4"
