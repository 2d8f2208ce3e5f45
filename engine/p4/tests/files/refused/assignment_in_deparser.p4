#include "../types.p4"
#define OWN_DEPARSER
control D(packet_out p, in headers_t h) {
    apply { bit<8> x = h.b.x; if (x == 1) { p.emit(h.b); } }
}
#include "../pipeline.p4"
