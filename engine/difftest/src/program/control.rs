//! Generates controls (pipelines, a nested one, checksums, the deparser) and functions.

use super::declarations::declare_parameters;
use super::expression::expression;
use super::extern_call::{self, egress_spec};
use super::scope::{Array, CodeKind, Function, NESTED_PARAMS, Ty, Variable};
use super::statement::statements;
use super::table;
use super::writer::{Writer, line};

const PARAMS: &str = "inout headers_t h, inout meta_t m, inout standard_metadata_t s";

/// Functions on scalars.
pub(super) fn functions(w: &mut Writer) {
    w.code_kind = CodeKind::Function;
    for _ in 0..w.rng.below(3) {
        w.variables.clear();
        let name = w.unique_name("f");
        let result = Ty::Bit(*w.rng.pick(&[8, 8, 16, 32, 128]));
        let mut params = Vec::new();
        for _ in 0..1 + w.rng.below(3) {
            let direction = *w.rng.pick(&["in", "in", "in", "inout", "out"]);
            let ty = Ty::Bit(*w.rng.pick(&[8, 8, 16, 16, 32, 128]));
            let param = w.unique_name("p");
            w.declare_variable(param, ty, direction != "in");
            params.push((direction, ty));
        }
        let list: Vec<String> = params
            .iter()
            .zip(&w.variables)
            .map(|((direction, ty), variable)| {
                format!("{direction} {} {}", ty.text(), variable.text)
            })
            .collect();
        line!(w, "{} {name}({}) {{", result.text(), list.join(", "));
        if w.rng.chance(50) {
            statements(w, 2, 1);
        }
        if w.rng.chance(40) {
            let (cond, value) = (expression(w, Ty::Bool, 1), expression(w, result, 2));
            line!(w, "if ({cond}) {{");
            line!(w, "return {value};");
            line!(w, "}}");
            statements(w, 1, 1);
        }
        let value = expression(w, result, 2);
        line!(w, "return {value};");
        line!(w, "}}");
        w.functions.push(Function { name, params, result });
    }
}

/// Starts a control: removes the objects of another one from the scope.
fn start_control(w: &mut Writer) {
    w.code_kind = CodeKind::Control;
    declare_parameters(w, true);
    w.registers.clear();
    w.counters.clear();
    w.meters.clear();
    w.actions.clear();
    w.tables.clear();
}

/// Number of cells; at least 8 if all indices must be in range.
fn array_size(w: &mut Writer) -> usize {
    if w.features.any_index { 1 + w.rng.below(10) } else { 8 + w.rng.below(3) }
}

fn objects(w: &mut Writer) {
    for _ in 0..w.rng.below(4) {
        let name = w.unique_name("reg");
        let ty = if w.rng.chance(50) {
            match w.variable(|v| v.writable && v.ty != Ty::Bool) {
                Some(found) => found.ty,
                None => Ty::Bit(8),
            }
        } else {
            let width = 1 + w.rng.below(200) as u32;
            if w.rng.chance(10) { Ty::Int(width) } else { Ty::Bit(width) }
        };
        let size = array_size(w);
        line!(w, "register<{}>({size}) {name};", ty.text());
        w.registers.push(Array { name, ty, size });
    }
    for _ in 0..w.rng.below(2) {
        let name = w.unique_name("c");
        let size = array_size(w);
        let unit = *w.rng.pick(&["packets", "bytes", "packets_and_bytes"]);
        line!(w, "counter({size}, CounterType.{unit}) {name};");
        w.counters.push(Array { name, ty: Ty::Bit(64), size });
    }
    for _ in 0..w.rng.below(2) {
        let name = w.unique_name("mt");
        let size = 1 + w.rng.below(6);
        let unit = *w.rng.pick(&["packets", "bytes"]);
        line!(w, "meter({size}, MeterType.{unit}) {name};");
        w.meters.push(Array { name, ty: Ty::Bit(32), size });
    }
}

/// A control that both pipelines may instantiate.
pub(super) fn nested(w: &mut Writer) {
    if w.keeps_fields || !w.rng.chance(35) {
        return;
    }
    start_control(w);
    w.ingress = false;
    w.shared = true;
    w.declare_variable("by", Ty::Bit(8), false);
    w.declare_variable("io", Ty::Bit(16), true);
    line!(w, "control N({PARAMS}, in bit<8> by, inout bit<16> io) {{");
    objects(w);
    if w.rng.chance(60) {
        table::declare(w);
    }
    w.nested_has_tables = !w.tables.is_empty();
    line!(w, "apply {{");
    let count = 2 + w.rng.below(4);
    statements(w, count, 2);
    line!(w, "}}");
    line!(w, "}}");
    w.nested.push("n".to_owned());
}

/// Ingress or egress.
pub(super) fn pipeline(w: &mut Writer, name: &str) {
    start_control(w);
    w.ingress = name == "I";
    w.shared = false;
    line!(w, "control {name}({PARAMS}) {{");
    let nested = !w.nested.is_empty();
    if nested {
        w.nested.clear();
        for _ in 0..1 + w.rng.below(2) {
            let instance = w.unique_name("n");
            line!(w, "N() {instance};");
            w.nested.push(instance);
        }
    }
    for _ in 0..w.rng.below(3) {
        let (ty, local) = (w.ty(), w.unique_name("l"));
        if w.rng.chance(40) {
            line!(w, "{} {local};", ty.text());
        } else {
            let value = super::expression::literal(w, ty);
            line!(w, "{} {local} = {value};", ty.text());
        }
        w.declare_variable(local, ty, true);
    }
    objects(w);
    table::declare(w);
    line!(w, "apply {{");
    if w.ingress {
        egress_spec(w);
    }
    // Compiled code has no passes with fields that are large.
    let count = if w.keeps_fields { 1 + w.rng.below(6) } else { 3 + w.rng.below(12) };
    statements(w, count, 3);
    // Tables that were not applied yet.
    while let Some(table) = w.tables.pop() {
        line!(w, "{}.apply();", table.name);
    }
    for instance in w.nested.clone() {
        if let Some(arguments) = super::expression::arguments(w, NESTED_PARAMS, 2)
            && w.rng.chance(60)
        {
            line!(w, "{instance}.apply(h, m, s, {arguments});");
        }
    }
    if w.keeps_fields && !w.ingress {
        if w.rng.chance(20) {
            extern_call::replace_by_clone(w);
        }
        extern_call::recirculate_or(w, write_state_to_packet);
    } else {
        if w.rng.chance(if w.ingress { 30 } else { 45 }) {
            extern_call::several_passes(w);
        }
        write_state_to_packet(w);
    }
    line!(w, "}}");
    line!(w, "}}");
    if !nested {
        w.nested.clear();
    }
}

fn checksum(w: &mut Writer, name: &str, what: &str) {
    w.code_kind = CodeKind::Checksum;
    declare_parameters(w, false);
    line!(w, "control {name}(inout headers_t h, inout meta_t m) {{");
    line!(w, "apply {{");
    if w.keeps_fields {
        if w.checksums.is_empty() && w.layout.has_sum {
            let checksum = checksum_of_first_header(w);
            w.checksums.push(checksum);
        }
        for checksum in w.checksums.clone() {
            line!(w, "{what}{checksum};");
        }
    }
    let others = if w.keeps_fields { w.rng.chance(30).into() } else { w.rng.below(3) };
    for _ in 0..others {
        let fits = |v: &Variable| v.text.starts_with("h.") && matches!(v.ty, Ty::Bit(8..=64));
        let Some(field) = w.variable(fits) else { continue };
        let cond = expression(w, Ty::Bool, 1);
        let data = extern_call::data_list(w);
        if covers(&data, &field.text) {
            continue; // v1model has no checksum over the field that it is written to.
        }
        let algorithm = *w.rng.pick(&["csum16", "csum16", "crc16", "crc32", "xor16", "identity"]);
        let payload = if w.rng.chance(30) { "_with_payload" } else { "" };
        let checksum = format!("({cond}, {data}, {}, HashAlgorithm.{algorithm})", field.text);
        line!(w, "{what}{payload}{checksum};");
        if payload.is_empty() {
            w.checksums.push(checksum);
        }
    }
    line!(w, "}}");
    line!(w, "}}");
}

/// A checksum over fields of the header that all packets begin with, in its field `sum`.
fn checksum_of_first_header(w: &mut Writer) -> String {
    let fields = w.layout.types[0].fields.clone();
    let data: Vec<String> =
        (0..1 + w.rng.below(3)).map(|_| format!("h.h0.{}", w.rng.pick(&fields).0)).collect();
    let cond = match w.rng.below(5) {
        0..2 => "true".to_owned(),
        // Compiled code knows it on each path.
        2..4 => format!("h.{}.isValid()", w.rng.pick(&w.layout.headers).0),
        _ => expression(w, Ty::Bool, 1),
    };
    format!("({cond}, {{ {} }}, h.h0.sum, HashAlgorithm.csum16)", data.join(", "))
}

/// Whether a list names a field, a part of it, or a value that has it.
fn covers(list: &str, field: &str) -> bool {
    let of = |outer: &str, inner: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    list.split(['{', '}', ','])
        .map(str::trim)
        .any(|part| !part.is_empty() && (of(part, field) || of(field, part)))
}

/// `VerifyChecksum`.
pub(super) fn verify_checksum(w: &mut Writer) {
    checksum(w, "V", "verify_checksum");
}

/// `ComputeChecksum`.
pub(super) fn compute_checksum(w: &mut Writer) {
    checksum(w, "C", "update_checksum");
}

/// The deparser: all headers in some order, stacks whole or in parts.
pub(super) fn deparser(w: &mut Writer) {
    let layout = w.layout.clone();
    let mut emits = vec!["dump".to_owned()];
    emits.extend(layout.headers.iter().map(|(name, _)| name.clone()));
    emits.extend(layout.varbit.iter().map(|(name, _)| name.clone()));
    emits.extend(layout.union.map(|_| "u".to_owned()));
    for stack in &layout.stacks {
        if w.rng.chance(70) {
            emits.push(stack.name.clone());
        } else {
            let element = w.rng.below(stack.size);
            emits.push(format!("{}[{element}]", stack.name));
        }
    }
    if w.keeps_fields {
        // The order of the parser, and behind it what only a packet that leaves has.
        emits.rotate_left(1);
    } else {
        for at in 0..emits.len() {
            let other = w.rng.below(emits.len());
            if w.rng.chance(30) {
                emits.swap(at, other);
            }
        }
    }
    line!(w, "control D(packet_out p, in headers_t h) {{");
    line!(w, "apply {{");
    if w.rng.chance(10) && !w.keeps_fields {
        line!(w, "p.emit(h);");
    } else {
        for emit in emits {
            line!(w, "p.emit(h.{emit});");
        }
    }
    line!(w, "}}");
    line!(w, "}}");
}

/// Writes the complete state into the packet, in most programs: metadata directly, and headers,
/// also invalid ones, as a hash.
fn write_state_to_packet(w: &mut Writer) {
    if !w.has_dump {
        return;
    }
    let validity = if w.features.unaligned_hash_input { "(bit<1>)" } else { "(bit<8>)(bit<1>)" };
    let mut parts = Vec::new();
    for (path, of) in w.layout.header_paths() {
        parts.push(format!("{validity}{path}.isValid()"));
        if of == 0 && w.layout.has_sum {
            let fields = &w.layout.types[0].fields;
            parts.extend(fields.iter().map(|(field, _)| format!("{path}.{field}")));
        } else {
            parts.push(path);
        }
    }
    if let Some((name, of)) = w.layout.varbit.clone() {
        let fields = w.layout.types[of].fields.clone();
        parts.push(format!("{validity}h.{name}.isValid()"));
        parts.extend(fields.iter().map(|(field, _)| format!("h.{name}.{field}")));
    }
    let to = if w.ingress { "m.di" } else { "m.de" };
    let data = parts.join(", ");
    line!(w, "hash({to}, HashAlgorithm.crc32, 32w0, {{ {data} }}, 33w4294967296);");
    if !w.ingress {
        line!(w, "h.dump.setValid();");
        for (at, (path, _)) in w.layout.metadata_in_packet().into_iter().enumerate() {
            line!(w, "h.dump.d{at} = {path};");
        }
    }
}
