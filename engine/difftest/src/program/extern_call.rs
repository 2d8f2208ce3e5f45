//! Generates calls of v1model's externs.

use super::assignment::{assignment, destination};
use super::expression::{expression, literal};
use super::scope::{Array, CodeKind, Ty, Variable};
use super::writer::{Writer, line};

/// Maximum number of recirculations and resubmissions of a packet; a program that keeps fields may
/// have two more recirculations.
const MAX_ROUNDS: usize = 2;

/// Writes one call, or an assignment if there is no extern to call.
pub(super) fn write(w: &mut Writer) {
    match w.rng.below(22) {
        0..5 => register(w),
        5..7 => {
            if let Some(counter) = w.rng.pick_any(&w.counters).cloned() {
                let index = index(w, &counter);
                line!(w, "{}.count({index});", counter.name);
            }
        }
        7..9 => {
            if let Some(meter) = w.rng.pick_any(&w.meters).cloned()
                && let Some(to) = unsigned(w)
            {
                let index = index(w, &meter);
                line!(w, "{}.execute_meter({index}, {});", meter.name, to.text);
            }
        }
        9..12 => hash(w),
        12 if w.features.nondeterminism => random(w),
        13 if w.ingress => digest(w),
        14 if !(w.shared || w.keeps_fields && w.ingress) => clone(w),
        15 if !w.shared && !w.keeps_fields => send_back(w),
        16 => {
            let length = expression(w, Ty::Bit(32), 1);
            let length =
                if w.rng.chance(70) { format!("(bit<32>){}", w.rng.below(100)) } else { length };
            line!(w, "truncate({length});");
        }
        17 if w.rng.chance(20) => line!(w, "mark_to_drop(s);"),
        18 => log_message(w),
        19 => assertion(w),
        20 if w.ingress => {
            let group = if w.rng.chance(90) { w.rng.below(4) } else { 77 };
            line!(w, "s.mcast_grp = 16w{group};");
        }
        _ => egress_spec(w),
    }
}

fn log_message(w: &mut Writer) {
    let values: Vec<String> = (0..w.rng.below(3))
        .filter_map(|_| w.variable(|v| v.ty != Ty::Bool).map(|found| found.text))
        .collect();
    if values.is_empty() {
        line!(w, "log_msg(\"here\");");
    } else {
        let places = vec!["{}"; values.len()].join(" and ");
        line!(w, "log_msg(\"values {places}\", {{ {} }});", values.join(", "));
    }
}

fn assertion(w: &mut Writer) {
    let cond = if w.features.false_assertions && w.rng.chance(50) {
        expression(w, Ty::Bool, 1)
    } else {
        tautology(w)
    };
    let check = *w.rng.pick(&["assert", "assume"]);
    line!(w, "{check}({cond});");
}

/// A condition that holds for each value of a variable.
fn tautology(w: &mut Writer) -> String {
    let Some(Variable { text, ty, .. }) = w.variable(|v| matches!(v.ty, Ty::Bit(_))) else {
        return "true".to_owned();
    };
    let other = literal(w, ty);
    match w.rng.below(3) {
        0 => format!("({text} | {other}) >= {text}"),
        1 => format!("({text} & {other}) <= {text}"),
        _ => format!("(~{text}) != {text}"),
    }
}

/// Writes an assignment of the egress port, mostly a small number.
pub(super) fn egress_spec(w: &mut Writer) {
    let port = match w.rng.below(20) {
        0 | 1 => expression(w, Ty::Bit(9), 2),
        2..5 => "s.ingress_port".to_owned(),
        5 => "9w511".to_owned(),
        _ => format!("9w{}", w.rng.below(6)),
    };
    line!(w, "s.egress_spec = {port};");
}

fn unsigned(w: &mut Writer) -> Option<Variable> {
    w.variable(|v| v.writable && matches!(v.ty, Ty::Bit(_)))
}

/// An index into an array, mostly in range.
fn index(w: &mut Writer, array: &Array) -> String {
    match w.rng.below(4) {
        0 | 1 if !w.features.any_index => format!("32w{}", w.rng.below(array.size)),
        0 => format!("32w{}", w.rng.below(array.size + 1)),
        1 => expression(w, Ty::Bit(32), 2),
        _ => match w.variable(|v| matches!(v.ty, Ty::Bit(3..))) {
            Some(found) => format!("(bit<32>){}[2:0]", found.text),
            None => "32w0".to_owned(),
        },
    }
}

fn register(w: &mut Writer) {
    let Some(register) = w.rng.pick_any(&w.registers).cloned() else {
        return assignment(w);
    };
    let index = index(w, &register);
    if w.rng.chance(50) {
        let value = expression(w, register.ty, 3);
        line!(w, "{}.write({index}, {value});", register.name);
        return;
    }
    let to = destination(w, register.ty);
    line!(w, "{}.read({to}, {index});", register.name);
}

const ALGORITHMS: &[&str] =
    &["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

/// A hash algorithm.
pub(super) fn algorithm(w: &mut Writer) -> &'static str {
    match *w.rng.pick(ALGORITHMS) {
        "random" if !w.features.nondeterminism => "crc32",
        other => other,
    }
}

/// A list `{ a, b, c }` of variables in scope, which may be fields of invalid headers.
pub(super) fn data_list(w: &mut Writer) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + w.rng.below(4) {
        let part = match w.variable(|v| v.ty != Ty::Bool) {
            Some(found) if w.rng.chance(75) => found.text,
            _ if w.code_kind == CodeKind::Checksum => continue,
            _ => {
                let width = w.width();
                expression(w, Ty::Bit(width), 1)
            }
        };
        parts.push(part);
    }
    if let Some((name, of)) = w.layout.varbit.clone() {
        if w.rng.chance(20) {
            parts.push(format!("h.{name}.vb"));
        }
        let _ = of;
    }
    if parts.is_empty() {
        parts.push("m.rounds".to_owned());
    }
    format!("{{ {} }}", parts.join(", "))
}

fn hash(w: &mut Writer) {
    let Some(to) = unsigned(w) else { return };
    let algorithm = algorithm(w);
    let (base_width, max_width) =
        (*w.rng.pick(&[8, 16, 32, 64]), *w.rng.pick(&[8, 16, 32, 33, 64]));
    let base = if w.rng.chance(60) {
        format!("{base_width}w{}", w.rng.below(4))
    } else {
        expression(w, Ty::Bit(base_width), 1)
    };
    let max = match w.rng.below(4) {
        0 => expression(w, Ty::Bit(max_width), 1),
        1 => format!("{max_width}w{}", w.rng.below(5)),
        _ => format!("{max_width}w{}", (1u64 << (max_width - 1)) + w.rng.below(2) as u64),
    };
    let data = data_list(w);
    line!(w, "hash({}, HashAlgorithm.{algorithm}, {base}, {data}, {max});", to.text);
}

fn random(w: &mut Writer) {
    let Some(to) = w.variable(|v| v.writable && matches!(v.ty, Ty::Bit(1..=64))) else { return };
    let (low, high) = (expression(w, to.ty, 1), expression(w, to.ty, 1));
    line!(w, "random({}, {low}, {high});", to.text);
}

fn digest(w: &mut Writer) {
    let digests = w.layout.digests.clone();
    if digests.is_empty() {
        return assignment(w);
    }
    let number = w.rng.below(digests.len());
    let values: Vec<String> = digests[number].iter().map(|ty| expression(w, *ty, 2)).collect();
    line!(w, "digest<digest{number}_t>(32w1, {{ {} }});", values.join(", "));
}

fn clone(w: &mut Writer) {
    let list = 1 + w.rng.below(3);
    let session = if w.rng.chance(80) {
        format!("32w{}", w.rng.below(5))
    } else {
        expression(w, Ty::Bit(32), 1)
    };
    if w.ingress {
        if w.rng.chance(30) {
            // This clone loses the count of rounds.
            line!(w, "if (m.rounds == 0) {{");
            line!(w, "clone(CloneType.I2E, {session});");
            line!(w, "}}");
        } else {
            line!(w, "clone_preserving_field_list(CloneType.I2E, {session}, {list});");
        }
        return;
    }
    // A clone from egress to egress runs this code again.
    if w.rng.chance(40) {
        // This clone loses the count of rounds.
        line!(w, "if (m.rounds == 0 && s.instance_type == 0) {{");
        line!(w, "clone(CloneType.E2E, {session});");
        line!(w, "}}");
        return;
    }
    line!(w, "if (m.rounds < 8w{MAX_ROUNDS}) {{");
    line!(w, "m.rounds = m.rounds + 1;");
    line!(w, "clone_preserving_field_list(CloneType.E2E, {session}, {list});");
    line!(w, "}}");
}

/// Writes a multicast in ingress, and a recirculation or a clone in egress, for all packets or only
/// for some copies of a group.
pub(super) fn several_passes(w: &mut Writer) {
    if !w.ingress && w.rng.chance(25) {
        return replace_by_clone(w);
    }
    let cond = for_some(w);
    line!(w, "if ({cond}) {{");
    if w.ingress {
        line!(w, "s.mcast_grp = 16w{};", 1 + w.rng.below(3));
    } else {
        send_back(w);
    }
    line!(w, "}}");
}

/// Writes a clone that goes on in place of some packets.
pub(super) fn replace_by_clone(w: &mut Writer) {
    let cond = for_some(w);
    line!(w, "if ({cond}) {{");
    clone(w);
    line!(w, "mark_to_drop(s);");
    line!(w, "}}");
}

/// A condition that holds for all packets, or for some.
fn for_some(w: &mut Writer) -> String {
    match w.rng.below(5) {
        0 => expression(w, Ty::Bool, 2),
        1 if !w.ingress => format!("s.egress_rid != 16w{}", w.rng.below(4)),
        2 if !w.ingress => format!("s.egress_port != 9w{}", w.rng.below(6)),
        _ => "true".to_owned(),
    }
}

/// Writes a recirculation at the end of egress, and `otherwise` for the packets that leave.
pub(super) fn recirculate_or(w: &mut Writer, otherwise: impl FnOnce(&mut Writer)) {
    let (cond, list) = (for_some(w), 1 + w.rng.below(3));
    let rounds = MAX_ROUNDS + w.rng.below(3);
    line!(w, "if (m.rounds < 8w{rounds} && {cond}) {{");
    line!(w, "m.rounds = m.rounds + 1;");
    line!(w, "recirculate_preserving_field_list({list});");
    line!(w, "}} else {{");
    otherwise(w);
    line!(w, "}}");
}

/// Writes a resubmission or a recirculation, with a limit of rounds.
fn send_back(w: &mut Writer) {
    let list = 1 + w.rng.below(3);
    let what = if w.ingress { "resubmit" } else { "recirculate" };
    line!(w, "if (m.rounds < 8w{MAX_ROUNDS}) {{");
    line!(w, "m.rounds = m.rounds + 1;");
    line!(w, "{what}_preserving_field_list({list});");
    line!(w, "}}");
}
