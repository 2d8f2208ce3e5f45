//! Small programs and their estimates.

use netkv_budget::{Report, Target, estimate};
use netkv_p4::{Options, compile_source};

/// A complete program with the bodies of an ingress and an egress; `globals` precede them.
pub fn source(globals: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<32> key; bit<32> value; bit<16> index; bit<16> other; bit<8> op; bit<8> flags; }}
header wide_t {{ bit<128> data; }}
struct headers {{ h_t h; wide_t w; }}
struct metadata {{ bit<32> a; bit<32> b; bit<32> c; bit<32> d; bit<16> row; bit<1> flag; bool found; }}
parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.h); p.extract(hdr.w); meta.d = hdr.h.key; transition accept; }}
}}
control Check(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
{globals}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{ingress}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{egress}
}}
control MyDeparser(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); p.emit(hdr.w); }} }}
V1Switch(MyParser(), Check(), I(), E(), Check(), MyDeparser()) main;
"
    )
}

/// The estimate for a program.
pub fn report(globals: &str, ingress: &str, egress: &str) -> Report {
    let source = source(globals, ingress, egress);
    let compiled = compile_source("test.p4", &source, &Options::default());
    let compiled = compiled.unwrap_or_else(|errors| panic!("{errors}"));
    estimate(&compiled.program, &Target::default()).unwrap_or_else(|error| panic!("{error}"))
}
