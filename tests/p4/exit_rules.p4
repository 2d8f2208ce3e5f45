// The effect of `exit` as p4c 1.2.5.16 compiles it, in cases that tests/golden/exits.p4 lacks. The
// answers in exit_rules.stf follow from the order of p4c's passes, not from a run of bmv2: it
// removes dead assignments in each action, inlines controls, inlines actions, removes parameters.
#include <core.p4>
#include <v1model.p4>

header sel_t { bit<8> op; bit<8> c; }
header val_t { bit<8> y; bit<8> z; }
header word_t { bit<8> x; }
struct headers_t { sel_t sel; val_t b; word_t[2] r; }
struct pair_t { bit<8> p; bit<8> q; }
struct metadata_t { pair_t pair; }

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.sel);
        packet.extract(h.b);
        packet.extract(h.r.next);
        packet.extract(h.r.next);
        transition accept;
    }
}
control Check(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }

bit<8> same(in bit<8> x) { bit<8> t = x; return t; }
void set(out bit<8> x, in bit<8> v) { x = v; }
bit<8> post(inout bit<8> x) { bit<8> t = x; x = x + 1; return t; }

// A control that is applied once works on the argument itself.
control Leave(inout bit<8> v, in bit<8> c) {
    apply { v = 0x66; if (c == 1) { exit; } v = 0x77; }
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Leave() once;
    Leave() twice;
    Leave() alike;

    // The fields of a header or struct are independent.
    action fields(inout val_t b) { b.y = 0xA5; b.z = 0xA6; if (h.sel.c == 1) { exit; } b.y = 0x0F; }
    action whole(inout val_t b) { b.y = 0xA5; if (h.sel.c == 1) { exit; } b = { 1, 2 }; }
    action structs(inout pair_t t) { t.q = 9; if (h.sel.c == 1) { exit; } t = { 3, 4 }; t.p = 5; }
    action stack(inout word_t[2] r) { r[0].x = 1; r[1].x = 2; if (h.sel.c == 1) { exit; } r[1].x = 3; }
    action unknown(inout word_t[2] r) {
        r[0].x = 1;
        if (h.sel.c == 1) { exit; }
        r[(bit<1>)h.sel.c].x = 3;
    }
    // The bits of a slice are independent.
    action same_bits(inout bit<8> v) { v[3:0] = 5; if (h.sel.c == 1) { exit; } v[3:0] = 9; }
    action more_bits(inout bit<8> v) { v[3:2] = 1; if (h.sel.c == 1) { exit; } v[4:1] = 9; }
    action other_bits(inout bit<8> v) { v[7:4] = 5; if (h.sel.c == 1) { exit; } v[3:0] = 9; }
    // A compound assignment reads its target.
    action compound(inout bit<8> v) { v = v + 3; if (h.sel.c == 1) { exit; } v += 4; }
    action dead_compound(inout bit<8> v) { v += 3; if (h.sel.c == 1) { exit; } v = 4; }
    // An unused local does not keep the assignment to its source alive.
    action local(inout bit<8> v) { bit<8> t; v = 5; t = v; if (h.sel.c == 1) { exit; } v = 7; }
    // A call overwrites its out argument. It runs even if its result is unused.
    action by_call(inout bit<8> v) { v = 5; if (h.sel.c == 1) { exit; } set(v, 8); }
    action dropped(inout bit<8> v) { v = post(h.b.z); if (h.sel.c == 1) { exit; } v = 7; }
    action passed(inout bit<8> v) { v = 5; if (h.sel.c == 1) { exit; } post(v); }
    // Code behind an exit in the same block has no effect.
    action behind(inout bit<8> v) { if (h.sel.c == 1) { v = 5; exit; v = 6; } }
    action both(inout bit<8> v) { v = 5; if (h.sel.c == 1) { exit; } else { v = 6; exit; } v = 7; }
    // A return reaches the end of the action.
    action returns(inout bit<8> v) { v = 5; if (h.sel.c == 1) { return; } v = 6; exit; }
    action known(inout bit<8> v) { v = 5; if (true) { exit; } v = 6; }

    // Actions in actions: `exit` discards their parameters, not their direct writes.
    action inner_out(out bit<8> w) { w = 0x33; if (h.sel.c == 1) { exit; } }
    action inner(inout bit<8> w) { w = w + 3; h.b.z = 0x44; if (h.sel.c == 1) { exit; } w = w + 1; }
    action middle(inout bit<8> w) { w = w + 0x10; inner(w); w = w + 0x20; }
    action outer(inout bit<8> v) { v = v + 1; middle(v); v = v + 2; }
    action outer_out(inout bit<8> v) { inner_out(v); v = v + 1; }
    action direct() { inner(h.b.y); h.b.y = h.b.y + 1; }
    action overwritten(inout bit<8> v) { bit<8> t = 0; v = 0x50; inner(t); v = 0x60 + t; }
    // An assignment is dead if a called action overwrites it, even if that action exits.
    action before_out(inout bit<8> v) { v = 0x50; inner_out(v); }

    action slice(inout bit<4> v) { v = 9; if (h.sel.c == 1) { exit; } v = v + 1; }
    action two(inout bit<8> a, inout bit<8> b) { a = 1; if (h.sel.c == 1) { exit; } b = 2; }
    action bound(inout bit<8> a, in bit<8> b, bit<8> k) { a = a + b; a = a + k; if (h.sel.c == 1) { exit; } }
    table t {
        key = { h.sel.c: exact; }
        actions = { bound(h.b.y, h.b.z); inner(h.b.y); NoAction; }
        const entries = { 1: bound(0x10); 2: inner(); }
        default_action = bound(h.b.y, h.b.z, 0x20);
    }
    apply {
        s.egress_spec = 1;
        m.pair = { h.b.y, h.b.z };
        switch (h.sel.op) {
            0: { fields(h.b); }
            1: { whole(h.b); }
            2: { structs(m.pair); }
            3: { stack(h.r); }
            4: { unknown(h.r); }
            5: { same_bits(h.b.y); }
            6: { more_bits(h.b.y); }
            7: { other_bits(h.b.y); }
            8: { compound(h.b.y); }
            9: { dead_compound(h.b.y); }
            10: { local(h.b.y); }
            11: { by_call(h.b.y); }
            12: { dropped(h.b.y); }
            13: { passed(h.b.y); }
            14: { behind(h.b.y); }
            15: { both(h.b.y); }
            16: { returns(h.b.y); }
            17: { known(h.b.y); }
            18: { outer(h.b.y); }
            19: { outer_out(h.b.y); }
            20: { direct(); }
            21: { overwritten(h.b.y); }
            22: { before_out(h.b.y); }
            23: { slice(h.b.y[3:0]); }
            24: { two(h.b.y, h.b.y); }
            25: { two(h.b.y, h.b.z); }
            26: { two(h.r[h.b.z & 1].x, h.b.z); }
            27: { once.apply(h.b.y, h.sel.c); }
            28: { twice.apply(h.b.y, h.sel.c); }
            29: { twice.apply(h.b.z, h.sel.c); }
            30: { alike.apply(h.b.y, h.sel.c); }
            31: { alike.apply(h.b.y, h.sel.c); }
            32: { t.apply(); }
            33: { slice(h.r[post(h.b.z) & 1].x[3:0]); }
            34: { inner(h.r[same(h.b.z) & 1].x); }
        }
        h.sel.op = h.sel.op + 0x80;
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { if ((h.sel.op & 0x7f) == 2) { h.b = { m.pair.p, m.pair.q }; } }
}
V1Switch(P(), Check(), I(), E(), Check(), D()) main;
