#include "../types.p4"
enum bit<8> colour_t { red = 1 }
type colour_t shade_t;
#include "../pipeline.p4"
