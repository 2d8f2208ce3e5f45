// Compound assignments: every operator, every kind of target, and targets whose index has a side
// effect. p4c 1.2.5.16 evaluates the index once. It evaluates calls on the right side before it
// reads the target, and an index without a call after them.
#include <core.p4>
#include <v1model.p4>

header sel_t { bit<8> op; bit<8> n; bit<8> a; bit<8> b; }
header word_t { bit<8> x; int<8> s; }
header wide_t { bit<128> w; }
struct headers_t { sel_t sel; word_t[4] r; wide_t wide; }
struct inner_t { bit<8> v; }
struct metadata_t { inner_t inner; }

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.sel);
        packet.extract(h.r.next);
        packet.extract(h.r.next);
        h.r[1].x += h.sel.op == 0x40 ? 8w1 : 8w0;
        packet.extract(h.r.next);
        packet.extract(h.r.next);
        packet.extract(h.wide);
        transition accept;
    }
}
control Check(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }

bit<8> post(inout bit<8> x) { bit<8> old = x; x = x + 1; return old; }

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    bit<8> local = 0;
    action add(inout bit<8> v, in bit<8> by) { v += by; v <<= 1; }
    action at(inout bit<8> n) { h.r[post(n) & 3].x += 1; n += 0x10; }
    apply {
        s.egress_spec = 1;
        switch (h.sel.op) {
            // Every operator, at an index with a side effect.
            0x00: { h.r[post(h.sel.n) & 3].x += h.sel.a; }
            0x01: { h.r[post(h.sel.n) & 3].x -= h.sel.a; }
            0x02: { h.r[post(h.sel.n) & 3].x *= h.sel.a; }
            0x03: { h.r[post(h.sel.n) & 3].x &= h.sel.a; }
            0x04: { h.r[post(h.sel.n) & 3].x |= h.sel.a; }
            0x05: { h.r[post(h.sel.n) & 3].x ^= h.sel.a; }
            0x06: { h.r[post(h.sel.n) & 3].x <<= h.sel.a; }
            0x07: { h.r[post(h.sel.n) & 3].x >>= h.sel.a; }
            0x08: { h.r[post(h.sel.n) & 3].x |+|= h.sel.a; }
            0x09: { h.r[post(h.sel.n) & 3].x |-|= h.sel.a; }
            0x0a: { h.r[post(h.sel.n) & 3].s >>= h.sel.a; }
            0x0b: { h.r[post(h.sel.n) & 3].s |+|= 8s100; }
            0x0c: { h.r[post(h.sel.n) & 3].s |-|= 8s100; }
            // Slices, of fields and of elements, one in the other.
            0x20: { h.r[post(h.sel.n) & 3].x[5:2] += 7; }
            0x21: { h.r[post(h.sel.n) & 3].x[5:2][2:1] += 3; }
            0x22: { h.sel.b[7:4] ^= 0xf; }
            0x23: { h.wide.w[100:60] += 1; }
            // Other targets.
            0x30: { h.wide.w -= 1; }
            0x31: { local += h.sel.a; local += local; h.sel.b = local; }
            0x32: { m.inner.v |= h.sel.a; m.inner.v += 1; h.sel.b = m.inner.v; }
            0x33: { add(h.sel.b, h.sel.a); }
            0x34: { at(h.sel.n); }
            0x35: { h.r[h.r[post(h.sel.n) & 3].x & 3].x += 0x40; }
            0x36: { h.r[3].x += h.r[post(h.sel.n) & 3].x; }
            // The right side has a call, which runs before the target is read.
            0x50: { h.sel.n += post(h.sel.n); }
            0x51: { h.r[h.sel.n & 3].x += post(h.sel.n); }
            0x52: { h.r[post(h.sel.n) & 3].x += post(h.sel.n); }
            0x53: { h.r[(post(h.sel.n) + h.sel.a) & 3].x += post(h.sel.a); }
            0x54: { h.sel.n[3:0] -= post(h.sel.n)[3:0]; }
            0x55: { h.sel.n -= post(h.sel.n) + post(h.sel.n); }
            0x56: { h.r[h.sel.n & 3].x = post(h.sel.n); }
            0x57: { h.r[h.sel.n & 3] = { post(h.sel.n), 5 }; }
            0x58: { h.r[post(h.sel.n) & 3] = h.r[post(h.sel.n) & 3]; }
            0x59: { h.r[h.sel.n & 3].x[3:0] = post(h.sel.n)[3:0]; }
        }
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
V1Switch(P(), Check(), I(), E(), Check(), D()) main;
