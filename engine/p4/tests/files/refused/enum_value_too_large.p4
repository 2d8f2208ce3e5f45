#include "../types.p4"
enum bit<2> colour_t { red = 3, green = 4 }
enum int<2> sign_t { minus = -2, plus = 2 }
#include "../pipeline.p4"
