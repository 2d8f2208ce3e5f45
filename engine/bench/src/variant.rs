//! Generates the yardstick program for other sizes of tables, values and keys.

use std::fmt::Write;

/// The sizes of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Entries of the lookup table, and cells of each register.
    pub capacity: u32,
    /// Bits of a cell's index.
    pub index_width: u32,
    /// Number of chunks of 16 bytes of a value.
    pub chunks: u32,
    /// Bits of a key.
    pub key_width: u32,
}

impl Default for Shape {
    /// The yardstick itself.
    fn default() -> Self {
        Self { capacity: 65_536, index_width: 16, chunks: 8, key_width: 128 }
    }
}

const HEAD: &str = "\
#include <core.p4>
#include <v1model.p4>
header eth_h { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_h { bit<4> ver; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag; \
bit<8> ttl; bit<8> proto; bit<16> csum; bit<32> src; bit<32> dst; }
header udp_h { bit<16> sport; bit<16> dport; bit<16> len; bit<16> csum; }
";

const PARSER: &str = "\
parser P(packet_in p, out hdr_t h, inout meta_t m, inout standard_metadata_t s) {
  state start { p.extract(h.eth); transition select(h.eth.type) { 0x800: ip; default: accept; } }
  state ip { p.extract(h.ip); transition select(h.ip.proto) { 17: udp; default: accept; } }
  state udp { p.extract(h.udp); transition select(h.udp.dport) { 5000: kv; default: accept; } }
  state kv { p.extract(h.kv); transition accept; }
}
control VC(inout hdr_t h, inout meta_t m) { apply {} }
control I(inout hdr_t h, inout meta_t m, inout standard_metadata_t s) {
";

const ROUTE: &str = "  \
  action fwd(bit<9> port) { s.egress_spec = port; }
  table route { key = { h.ip.dst: exact; } actions = { fwd; NoAction; } size = 1024; \
default_action = NoAction(); }
";

const TAIL: &str = "        }
      }
    }
    route.apply();
  }
}
control E(inout hdr_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control CC(inout hdr_t h, inout meta_t m) { apply { update_checksum(h.ip.isValid(), \
{ h.ip.ver, h.ip.ihl, h.ip.tos, h.ip.len, h.ip.id, h.ip.frag, h.ip.ttl, h.ip.proto, h.ip.src, \
h.ip.dst }, h.ip.csum, HashAlgorithm.csum16); } }
control D(packet_out p, in hdr_t h) { apply { p.emit(h.eth); p.emit(h.ip); p.emit(h.udp); \
p.emit(h.kv); p.emit(h.v); } }
V1Switch(P(), VC(), I(), E(), CC(), D()) main;
";

/// The program with this shape. The default shape gives exactly the tokens of the yardstick.
pub fn source(shape: Shape) -> String {
    let Shape { capacity, index_width, chunks, key_width } = shape;
    let mut text = HEAD.to_owned();
    // A write to a string cannot fail.
    let mut line = |part: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(part);
        text.push('\n');
    };
    line(format_args!("header kv_h {{ bit<8> op; bit<32> seq; bit<{key_width}> key; }}"));
    line(format_args!("header val_h {{ bit<128> d; }}"));
    line(format_args!(
        "struct hdr_t {{ eth_h eth; ipv4_h ip; udp_h udp; kv_h kv; val_h[{chunks}] v; }}"
    ));
    line(format_args!(
        "struct meta_t {{ bit<{index_width}> idx; bit<8> bitmap; bit<1> hit; bit<1> valid; }}"
    ));
    line(format_args!("{PARSER}"));
    line(format_args!("  register<bit<32>>({capacity}) hits; register<bit<1>>({capacity}) valid;"));
    for chunk in 0..chunks {
        line(format_args!("  register<bit<128>>({capacity}) r{chunk};"));
    }
    line(format_args!(
        "  action hit(bit<{index_width}> idx, bit<8> bitmap) \
         {{ m.idx = idx; m.bitmap = bitmap; m.hit = 1; }}"
    ));
    line(format_args!(
        "  table lookup {{ key = {{ h.kv.key: exact; }} actions = {{ hit; NoAction; }} \
         size = {capacity}; default_action = NoAction(); }}"
    ));
    line(format_args!("{ROUTE}"));
    line(format_args!("  apply {{ if (h.kv.isValid() && h.kv.op == 0) {{ lookup.apply();"));
    line(format_args!("      if (m.hit == 1) {{"));
    line(format_args!(
        "        bit<32> c; hits.read(c, (bit<32>)m.idx); hits.write((bit<32>)m.idx, c + 1);"
    ));
    line(format_args!("        valid.read(m.valid, (bit<32>)m.idx);"));
    line(format_args!("        if (m.valid == 1) {{"));
    for chunk in 0..chunks {
        line(format_args!(
            "          h.v[{chunk}].setValid(); r{chunk}.read(h.v[{chunk}].d, (bit<32>)m.idx);"
        ));
    }
    line(format_args!("          h.kv.op = 2;"));
    for (kind, part, from, to) in [(48, "mac", "eth.dst", "eth.src"), (32, "a", "ip.dst", "ip.src")]
    {
        line(format_args!(
            "          bit<{kind}> {part} = h.{from}; h.{from} = h.{to}; h.{to} = {part};"
        ));
    }
    line(format_args!(
        "          bit<16> q = h.udp.dport; h.udp.dport = h.udp.sport; h.udp.sport = q;"
    ));
    let bytes = chunks * 16;
    line(format_args!(
        "          h.ip.len = h.ip.len + {bytes}; h.udp.len = h.udp.len + {bytes}; h.udp.csum = 0;"
    ));
    text.push_str(TAIL);
    text
}
