/* Constructs that the golden programs do not have. The result of each is in the reply. */
#include <core.p4>
#include <v1model.p4>

#define PORT(n) (9w0 + n)
#if defined(PORT) && !defined(NOTHING) && (1 + 2 * 3 == 7)
#define OUT PORT(1)
#else
#error the preprocessor cannot count
#endif

typedef bit<8> byte_t;
type bit<8> index_t;
enum bit<8> Op { Sum = 1, Stack = 2, Switch = 3, Function = 4, Nested = 5 }
enum Plain { A, B, C }
const byte_t LIMIT = 10;
const bit<16> PAIR = LIMIT ++ 8w5;

header q_t { Op op; byte_t a; byte_t b; bit<8> r; bit<16> s; }
header e_t { bit<8> v; bit<8> w; }
struct inner_t { bit<8> x; bit<8> y; }
struct headers_t { q_t q; e_t[3] e; }
struct meta_t { inner_t in1; inner_t in2; Plain plain; tuple<bit<8>, bit<8>> pair; }

bit<8> larger(in bit<8> a, in bit<8> b) {
    if (a > b) { return a; }
    return b;
}
void split(in bit<16> v, out bit<8> high, out bit<8> low) { high = v[15:8]; low = v[7:0]; }

parser Elements(packet_in p, inout e_t[3] e, in bit<8> n)(bit<8> step) {
    bit<8> left;
    state start { left = n; transition more; }
    state more {
        transition select(left) { 0: accept; default: next; }
    }
    state next {
        p.extract(e.next);
        left = left - step;
        transition more;
    }
}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    Elements(1) elements;
    state start {
        p.extract(h.q);
        transition select(h.q.op) { Op.Stack: stack; default: accept; }
    }
    state stack { elements.apply(p, h.e, h.q.a); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }

control Adder(inout inner_t v, in bit<8> by)(bit<8> scale) {
    bit<8> count = 0;
    action add(bit<8> more) { v.x = v.x + by * scale + more; count = count + 1; }
    table step {
        key = { v.y: exact @name("y"); }
        actions = { add; @defaultonly NoAction; }
        const entries = { 1: add(100); 2: add(50); }
        default_action = NoAction;
    }
    apply {
        if (step.apply().hit) { v.y = count; } else { v.y = 0xFF; }
    }
}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    Adder(2) twice;
    Adder(3) thrice;
    apply {
        s.egress_spec = OUT;
        if (h.q.op == Op.Sum) {
            m.in1 = { h.q.a, h.q.b };
            m.in1 = { x = m.in1.y, y = m.in1.x };      // swapped, not doubled
            m.pair = { h.q.a, 7 };
            h.q.r = m.in1.x |-| LIMIT;
            h.q.s = (m.in1 == (inner_t){ h.q.b, h.q.a } ? PAIR : 16w0) + (bit<16>)m.pair[1];
            h.q.s[3:0] += 1;
        } else if (h.q.op == Op.Stack) {
            bit<8> i = h.q.b;
            h.e[i].v = h.e[i].v + 1;
            h.e[2] = h.e[i];
            h.q.r = h.e[i].w;
            if (h.e[0] == h.e[2]) { h.q.s = 0xAAAA; }
            h.e[1].setInvalid();
        } else if (h.q.op == Op.Switch) {
            m.plain = h.q.a == 0 ? Plain.A : Plain.C;
            switch (m.plain) {
                Plain.A: { h.q.r = 1; }
                Plain.B:
                Plain.C: { h.q.r = 2; }
            }
            switch (h.q.b) { 1: { h.q.s = 1; } 2: { h.q.s = 2; } default: { h.q.s = 3; } }
        } else if (h.q.op == Op.Function) {
            split(PAIR ^ 0x00FF, h.q.a, h.q.b);
            h.q.r = larger(h.q.a, larger(h.q.b, 3));
            h.q.s = (bit<16>)(bit<8>)(index_t)h.q.r << 4;
            bool odd = h.q.r[0:0] == 1w1;
            h.q.s[15:15] = (bit<1>)odd;
        } else if (h.q.op == Op.Nested) {
            m.in1 = { h.q.a, h.q.b };
            m.in2 = m.in1;
            twice.apply(m.in1, h.q.a);
            thrice.apply(v = m.in2, by = m.in2.x);
            h.q.a = m.in1.x;
            h.q.b = m.in2.x;
            h.q.r = m.in1.y;
        }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
