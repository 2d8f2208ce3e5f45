// Types that the file tests share.
#include <core.p4>
#include <v1model.p4>

header byte_t { bit<8> x; bit<8> y; }
header var_t { bit<8> n; varbit<64> v; }
header_union either_t { byte_t one; var_t two; }
struct headers_t { byte_t b; var_t v; byte_t[2] st; either_t u; }
struct meta_t { bit<8> m; bit<16> wide; bool flag; }
type bit<8> new_t;
