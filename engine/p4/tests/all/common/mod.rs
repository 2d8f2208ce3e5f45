//! Wraps a code fragment in a complete v1model program and compiles it.

use netkv_p4::{Compiled, Diagnostics, Options, compile_source};

/// A complete program. `globals` are declarations before the ingress control, `ingress` is its
/// body.
pub fn program(globals: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header ipv4_t {{ bit<8> ttl; bit<32> dstAddr; }}
header v_t {{ bit<8> x; }}
struct headers {{ ipv4_t ipv4; v_t[4] v; }}
struct metadata {{ bit<8> a; bit<16> b; }}
parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.ipv4); transition accept; }}
}}
control Check(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
{globals}
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{ingress}
}}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
control MyDeparser(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(MyParser(), Check(), MyIngress(), MyEgress(), Check(), MyDeparser()) main;
"
    )
}

pub fn compile(globals: &str, ingress: &str) -> Result<Compiled, Diagnostics> {
    compile_source("test.p4", &program(globals, ingress), &Options::default())
}
