//! Declares the headers, metadata and digests of a program, and the parameters of its blocks.

use super::layout::bits;
use super::scope::{CodeKind, Ty};
use super::writer::{Writer, line};

/// Writes the type declarations.
pub(super) fn declare(w: &mut Writer) {
    let layout = w.layout.clone();
    for (number, of) in layout.types.iter().enumerate() {
        line!(w, "header {} {{", of.name);
        let middle = of.fields.len() / 2;
        for (at, (name, ty)) in of.fields.iter().enumerate() {
            if at == middle
                && let Some(most) = of.varbit
            {
                line!(w, "varbit<{most}> vb;");
            }
            line!(w, "{} {name};", ty.text());
        }
        if number == 0 && layout.has_sum {
            line!(w, "bit<16> sum;");
        }
        line!(w, "}}");
    }
    line!(w, "header dump_t {{");
    for (at, (_, ty)) in layout.metadata_in_packet().iter().enumerate() {
        line!(w, "{} d{at};", ty.text());
    }
    let odd = bits(&layout.metadata_in_packet()) % 8;
    if odd > 0 {
        line!(w, "bit<{}> pad;", 8 - odd);
    }
    line!(w, "}}");
    if let Some(of) = layout.union {
        let [a, b] = of.map(|of| &layout.types[of].name);
        line!(w, "header_union u_t {{");
        line!(w, "{a} a;");
        line!(w, "{b} b;");
        line!(w, "}}");
    }
    line!(w, "struct headers_t {{");
    for (name, of) in layout.headers.iter().chain(&layout.varbit) {
        line!(w, "{} {name};", layout.types[*of].name);
    }
    line!(w, "dump_t dump;");
    for stack in &layout.stacks {
        line!(w, "{}[{}] {};", layout.types[stack.of].name, stack.size, stack.name);
    }
    if layout.union.is_some() {
        line!(w, "u_t u;");
    }
    line!(w, "}}");
    line!(w, "struct inner_t {{");
    for (name, ty) in &layout.inner {
        line!(w, "{} {name};", ty.text());
    }
    line!(w, "}}");
    line!(w, "struct meta_t {{");
    line!(w, "@field_list(1, 2, 3) bit<8> rounds;");
    line!(w, "@field_list(1, 2, 3) bit<32> di;");
    line!(w, "bit<32> de;");
    for (name, ty) in &layout.meta {
        let list = match w.rng.below(4) {
            0 => "@field_list(1) ",
            1 => "@field_list(2, 3) ",
            _ => "",
        };
        line!(w, "{list}{} {name};", ty.text());
    }
    line!(w, "inner_t in1;");
    let list = if w.rng.chance(30) { "@field_list(3) " } else { "" };
    line!(w, "{list}inner_t in2;");
    if let Some(of) = layout.meta_header {
        let list = if !w.keeps_fields && w.rng.chance(30) { "@field_list(2) " } else { "" };
        line!(w, "{list}{} hd;", layout.types[of].name);
    }
    line!(w, "}}");
    for (number, members) in layout.digests.iter().enumerate() {
        line!(w, "struct digest{number}_t {{");
        for (at, ty) in members.iter().enumerate() {
            line!(w, "{} d{at};", ty.text());
        }
        line!(w, "}}");
    }
}

/// Adds the parameters that all blocks of a pipeline have to the scope.
pub(super) fn declare_parameters(w: &mut Writer, standard: bool) {
    w.variables.clear();
    let layout = w.layout.clone();
    for (path, of) in layout.header_paths() {
        for (name, ty) in &layout.types[of].fields {
            w.declare_variable(format!("{path}.{name}"), *ty, true);
        }
    }
    if let Some((name, of)) = &layout.varbit {
        for (field, ty) in &layout.types[*of].fields {
            w.declare_variable(format!("h.{name}.{field}"), *ty, true);
        }
    }
    for (name, ty) in &layout.meta {
        // Twice, so that metadata is used more often than a field of a stack's element.
        w.declare_variable(format!("m.{name}"), *ty, true);
        w.declare_variable(format!("m.{name}"), *ty, true);
    }
    for (name, ty) in &layout.inner {
        w.declare_variable(format!("m.in1.{name}"), *ty, true);
        w.declare_variable(format!("m.in2.{name}"), *ty, true);
    }
    if standard {
        // Time and queues are those of a switch.
        for (name, width, writable, own) in [
            ("ingress_port", 9, false, false),
            ("egress_port", 9, false, false),
            ("instance_type", 32, false, false),
            ("packet_length", 32, false, false),
            ("egress_rid", 16, false, false),
            ("ingress_global_timestamp", 48, false, true),
            ("priority", 3, true, false),
            ("checksum_error", 1, false, false),
            ("enq_timestamp", 32, false, true),
            ("enq_qdepth", 19, false, true),
            ("deq_timedelta", 32, false, true),
            ("deq_qdepth", 19, false, true),
        ] {
            if own && !w.features.nondeterminism {
                continue;
            }
            let writable = writable && w.code_kind != CodeKind::Parser;
            w.declare_variable(format!("s.{name}"), Ty::Bit(width), writable);
        }
    }
}
