#include "../types.p4"
#define OWN_DEPARSER
control D(packet_out p, in headers_t h) {
    action nothing() { }
    apply { nothing(); p.emit(h); }
}
#include "../pipeline.p4"
