//! Values of wide registers on both executors. Compiled code copies them as vectors between cells
//! and frames. Programs of random statements read, write and change them in any order, for copies
//! of groups and in recirculations, too.

use netkv_dataplane::{Random, Switch};

use crate::both::{BOTH, assert_same_registers, send, switch_with};

/// Programs, and frames for each.
const PROGRAMS: u64 = 40;
const FRAMES: usize = 120;

/// Bytes of all headers: `q`, `v`, `u` and `w`.
const LENGTH: usize = 8 + 64 + 17 + 16;

/// Statements about the values. `@` is an index.
const STATEMENTS: [&str; 24] = [
    "small.read(h.v.a, @);",
    "small.read(h.v.b, @);",
    "small.read(h.w.d, @);",
    "small.read(h.u.c, @);",
    "other.read(h.v.b, @);",
    "wide.read(h.v.c, @);",
    "small.write(@, h.v.a);",
    "small.write(@, h.v.b);",
    "small.write(@, h.w.d);",
    "small.write(@, h.u.c);",
    "other.write(@, h.v.a);",
    "wide.write(@, h.v.c);",
    "small.read(m.kept, @);",
    "h.v.b = m.kept;",
    "m.kept = h.v.a;",
    "h.v.a = h.v.b;",
    "h.w.d = h.v.a;",
    "h.v.a[63:0] = h.v.b[127:64];",
    "h.v.c[127:0] = h.v.a;",
    "h.v.a = h.v.c[255:128];",
    "h.v.b = h.v.a[63:0] ++ h.v.b[127:64];",
    "h.v.a = h.v.a + 1;",
    "h.w.setInvalid();",
    "h.w.setValid();",
];

fn statement(random: &mut Random) -> String {
    let indices = ["(bit<32>) h.q.i", "(bit<32>) h.q.j[1:0]", "1", "(bit<32>) (h.q.i + 2)"];
    let index = indices[random.between(0, indices.len() as u64 - 1) as usize];
    STATEMENTS[random.between(0, STATEMENTS.len() as u64 - 1) as usize].replace('@', index)
}

/// Statements, of which some are for a part of the packets. Most are for all of them, since only
/// values that do not depend on the path are copied as vectors.
fn statements(random: &mut Random, count: u64) -> String {
    let mut all = String::new();
    for _ in 0..count {
        let first = statement(random);
        all += &match random.between(0, 9) {
            0..=1 => format!("if (h.q.flags[0:0] == 1) {{ {first} }}\n"),
            2 => format!("if (s.egress_rid == 0) {{ {first} {} }}\n", statement(random)),
            3 => format!("if (h.w.isValid()) {{ {first} {} }}\n", statement(random)),
            _ => first + "\n",
        };
    }
    all
}

fn program(random: &mut Random) -> String {
    let (ingress, egress) = (statements(random, 5), statements(random, 4));
    format!(
        "
#include <core.p4>
#include <v1model.p4>
header q_t {{ bit<8> flags; bit<8> group; bit<8> left; bit<8> pad; bit<16> i; bit<16> j; }}
header v_t {{ bit<128> a; bit<128> b; bit<256> c; }}
header u_t {{ bit<4> x; bit<128> c; bit<4> y; }}
header w_t {{ bit<128> d; }}
struct headers_t {{ q_t q; v_t v; u_t u; w_t w; }}
struct meta_t {{ bit<128> kept; }}
register<bit<128>>(4) small;
register<bit<128>>(4) other;
register<bit<256>>(3) wide;
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    state start {{
        p.extract(h.q);
        p.extract(h.v);
        p.extract(h.u);
        transition select(h.q.flags[2:2]) {{ 1: last; default: accept; }}
    }}
    state last {{ p.extract(h.w); transition accept; }}
}}
control V(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    apply {{
        {ingress}
        if (h.q.flags[3:3] == 1) {{ s.mcast_grp = 1; }} else {{ s.egress_spec = 3; }}
    }}
}}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    apply {{
        {egress}
        if (h.q.left != 0) {{
            h.q.left = h.q.left - 1;
            recirculate_preserving_field_list(0);
        }}
    }}
}}
control C(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control D(packet_out p, in headers_t h) {{
    apply {{ p.emit(h.q); p.emit(h.v); p.emit(h.u); p.emit(h.w); }}
}}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

fn frame(random: &mut Random) -> Vec<u8> {
    let left = [0, 0, 1, 3][random.between(0, 3) as usize];
    let mut frame = vec![random.between(0, 15) as u8, 0, left, 0];
    // Index 4 is after the last cell.
    frame.extend([0, random.between(0, 4) as u8, 0, random.between(0, 4) as u8]);
    let length = if random.between(0, 9) == 0 { LENGTH - 8 } else { LENGTH + 5 };
    frame.resize_with(length, || random.between(0, 255) as u8);
    frame
}

fn switches(source: &str) -> [Switch; 2] {
    BOTH.map(|kind| {
        let mut switch = switch_with(source, 1, kind);
        switch.insert_multicast_group(1, vec![(4, 0), (5, 1), (6, 2)]).unwrap();
        switch
    })
}

#[test]
fn values_are_those_of_the_cells_when_they_were_read() {
    for seed in 1..=PROGRAMS {
        let mut random = Random::new(seed);
        let source = program(&mut random);
        let mut switches = switches(&source);
        let frames: Vec<_> = (0..FRAMES).map(|_| frame(&mut random)).collect();
        for frames in frames.chunks(8) {
            send(&mut switches, 0, frames);
            assert_same_registers(&mut switches, &["small", "other", "wide"]);
        }
    }
}
