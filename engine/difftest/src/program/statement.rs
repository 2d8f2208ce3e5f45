//! Generates statements.

use super::assignment::{MAX_DEPTH, assign, assignment};
use super::expression::{arguments, element, expression, index};
use super::extern_call;
use super::scope::{CodeKind, NESTED_PARAMS, Ty};
use super::writer::{Writer, line};

/// Writes `count` statements. Their variables are in scope until the end.
pub(super) fn statements(w: &mut Writer, count: usize, depth: usize) {
    let known = w.variables.len();
    for _ in 0..count {
        statement(w, depth);
    }
    w.variables.truncate(known);
}

fn statement(w: &mut Writer, depth: usize) {
    let in_pipeline = matches!(w.code_kind, CodeKind::Action | CodeKind::Control);
    match w.rng.below(43) {
        0..12 => assignment(w),
        12..14 => slice_assignment(w),
        14..16 => {
            let ty = w.ty();
            let name = w.unique_name("l");
            if w.rng.chance(80) {
                let value = expression(w, ty, MAX_DEPTH);
                line!(w, "{} {name} = {value};", ty.text());
            } else {
                line!(w, "{} {name};", ty.text());
            }
            w.declare_variable(name, ty, true);
        }
        16..19 if depth > 0 && w.code_kind != CodeKind::Parser => branch(w, depth),
        19..22 if in_pipeline && !(w.keeps_fields && w.rng.chance(70)) => headers(w),
        22..24 if in_pipeline => element_assignment(w),
        24..30 if in_pipeline => extern_call::write(w),
        30..34 if w.code_kind == CodeKind::Control => apply(w, depth),
        34 if w.code_kind == CodeKind::Control && depth > 0 => value_switch(w, depth),
        35..37 if in_pipeline => direct_call(w),
        37 if w.code_kind == CodeKind::Control => nested_call(w),
        38 if in_pipeline && depth < 2 && w.rng.chance(25) => {
            let leave = *w.rng.pick(&["exit", "return"]);
            line!(w, "{leave};");
        }
        39 if in_pipeline => {
            let (a, b) = (w.rng.between(1, 2), w.rng.between(1, 2));
            line!(w, "m.in{a} = m.in{b};");
        }
        40 if in_pipeline && depth > 0 => choice(w),
        41 if in_pipeline && depth > 0 && w.features.loops => repeat(w),
        _ => assignment(w),
    }
}

fn slice_assignment(w: &mut Writer) {
    let signed = w.features.signed_parts;
    let fits = |ty: Ty| matches!(ty, Ty::Bit(_)) || signed && ty != Ty::Bool;
    let Some(to) = w.variable(|v| v.writable && fits(v.ty)) else { return };
    let (Ty::Bit(width) | Ty::Int(width)) = to.ty else { return };
    let low = w.rng.below(width as usize) as u32;
    let high = low + w.rng.below((width - low) as usize) as u32;
    let slice = format!("{}[{high}:{low}]", to.text);
    assign(w, &slice, Ty::Bit(high - low + 1), MAX_DEPTH);
}

/// Writes an assignment to an element with a run-time index.
fn element_assignment(w: &mut Writer) {
    let ty = match w.variable(|v| v.writable && v.text.starts_with("h.st")) {
        Some(found) => found.ty,
        None => return assignment(w),
    };
    match element(w, ty) {
        Some(to) => assign(w, &to, ty, MAX_DEPTH),
        None => assignment(w),
    }
}

fn branch(w: &mut Writer, depth: usize) {
    let cond = expression(w, Ty::Bool, 2);
    line!(w, "if ({cond}) {{");
    let count = 1 + w.rng.below(3);
    statements(w, count, depth - 1);
    if w.rng.chance(50) {
        line!(w, "}} else {{");
        let count = 1 + w.rng.below(3);
        statements(w, count, depth - 1);
    }
    line!(w, "}}");
}

/// Writes a variable of an enum, and a branch that depends on it.
fn choice(w: &mut Writer) {
    let (name, cond) = (w.unique_name("e"), expression(w, Ty::Bool, 1));
    line!(w, "choice_t {name} = choice_t.one;");
    line!(w, "if ({cond}) {{");
    line!(w, "{name} = choice_t.two;");
    line!(w, "}}");
    let op = *w.rng.pick(&["==", "!="]);
    line!(w, "if ({name} {op} choice_t.two) {{");
    statements(w, 1, 0);
    line!(w, "}}");
}

/// Writes a loop of a few rounds. It applies no table: a packet may reach a table once.
fn repeat(w: &mut Writer) {
    let (i, rounds, known) = (w.unique_name("i"), w.rng.below(4), w.variables.len());
    if w.rng.chance(50) {
        line!(w, "for (bit<8> {i} in 8w0 .. 8w{rounds}) {{");
    } else {
        let bound = if w.rng.chance(50) {
            format!("8w{rounds}")
        } else {
            format!("(8w3 & {})", expression(w, Ty::Bit(8), 1))
        };
        line!(w, "for (bit<8> {i} = 0; {i} < {bound}; {i} = {i} + 1) {{");
    }
    w.declare_variable(i, Ty::Bit(8), false);
    for _ in 0..1 + w.rng.below(2) {
        match w.rng.below(4) {
            0..2 => assignment(w),
            2 => element_assignment(w),
            _ => extern_call::write(w),
        }
    }
    if w.rng.chance(50) {
        let cond = expression(w, Ty::Bool, 1);
        let leave = *w.rng.pick(&["break", "continue"]);
        line!(w, "if ({cond}) {{");
        line!(w, "{leave};");
        line!(w, "}}");
        assignment(w);
    }
    w.variables.truncate(known);
    line!(w, "}}");
}

/// Writes an operation on headers: validity, copies, and the methods of stacks.
fn headers(w: &mut Writer) {
    let paths = w.layout.header_paths();
    let (path, of) = w.rng.pick(&paths).clone();
    let stacks = w.layout.stacks.clone();
    let stack = w.rng.pick_any(&stacks).cloned();
    match (w.rng.below(8), stack) {
        (0..2, _) => line!(w, "{path}.setValid();"),
        (2, _) => line!(w, "{path}.setInvalid();"),
        (3, _) => {
            let same: Vec<_> =
                paths.iter().filter(|other| other.1 == of && other.0 != path).collect();
            if let Some((from, _)) = w.rng.pick_any(&same) {
                line!(w, "{path} = {from};");
            }
        }
        (4, Some(stack)) => {
            let count = 1 + w.rng.below(stack.size + 1);
            let method = *w.rng.pick(&["push_front", "pop_front"]);
            line!(w, "h.{}.{method}({count});", stack.name);
        }
        (5, Some(stack)) => {
            if let Some(index) = index(w) {
                let method = *w.rng.pick(&["setValid", "setInvalid"]);
                line!(w, "h.{}[{}].{method}();", stack.name, index);
            }
        }
        (6, Some(stack)) => {
            let same: Vec<_> = stacks
                .iter()
                .filter(|other| {
                    other.of == stack.of && other.size == stack.size && other.name != stack.name
                })
                .collect();
            if let Some(other) = w.rng.pick_any(&same) {
                line!(w, "h.{} = h.{};", stack.name, other.name);
            } else if let Some(index) = index(w) {
                let same: Vec<_> = paths.iter().filter(|other| other.1 == stack.of).collect();
                let (other, _) = *w.rng.pick(&same);
                line!(w, "h.{}[{}] = {other};", stack.name, index);
            }
        }
        _ => line!(w, "{path}.setValid();"),
    }
}

/// Writes the application of a table that was not applied yet.
fn apply(w: &mut Writer, depth: usize) {
    if w.tables.is_empty() {
        return assignment(w);
    }
    let at = w.rng.below(w.tables.len());
    let table = w.tables.remove(at);
    match w.rng.below(4) {
        0 if depth > 0 => {
            let result = *w.rng.pick(&["hit", "miss"]);
            line!(w, "if ({}.apply().{result}) {{", table.name);
            statements(w, 2, depth - 1);
            line!(w, "}}");
        }
        1 if depth > 0 => {
            line!(w, "switch ({}.apply().action_run) {{", table.name);
            for action in &table.actions {
                if w.rng.chance(60) {
                    line!(w, "{action}: {{");
                    statements(w, 1, depth - 1);
                    line!(w, "}}");
                }
            }
            line!(w, "default: {{");
            statements(w, 1, depth - 1);
            line!(w, "}}");
            line!(w, "}}");
        }
        _ => line!(w, "{}.apply();", table.name),
    }
}

fn value_switch(w: &mut Writer, depth: usize) {
    let width = *w.rng.pick(&[2, 3, 8, 16, 65]);
    let value = expression(w, Ty::Bit(width), 2);
    line!(w, "switch ({value}) {{");
    let mut labels: Vec<String> =
        (0..1 + w.rng.below(3)).map(|label| format!("{width}w{label}")).collect();
    if width > 8 {
        labels.push(format!("{width}w{}", 1000 + w.rng.below(60_000)));
    }
    for label in labels {
        line!(w, "{label}: {{");
        statements(w, 1, depth - 1);
        line!(w, "}}");
    }
    if w.rng.chance(60) {
        line!(w, "default: {{");
        statements(w, 1, depth - 1);
        line!(w, "}}");
    }
    line!(w, "}}");
}

/// Writes a direct call of an action.
fn direct_call(w: &mut Writer) {
    let callable: Vec<_> = w.actions.iter().filter(|a| a.of_table.is_none()).cloned().collect();
    let Some(action) = w.rng.pick_any(&callable).cloned() else { return assignment(w) };
    let mut params = action.directed.clone();
    params.extend(action.data.iter().map(|ty| ("", *ty)));
    match arguments(w, &params, 2) {
        Some(arguments) => line!(w, "{}({arguments});", action.name),
        None => assignment(w),
    }
}

/// Writes a call of a nested control. An instance with tables is called once.
fn nested_call(w: &mut Writer) {
    if w.nested.is_empty() {
        return assignment(w);
    }
    let at = w.rng.below(w.nested.len());
    let Some(arguments) = arguments(w, NESTED_PARAMS, 2) else {
        return assignment(w);
    };
    line!(w, "{}.apply(h, m, s, {arguments});", w.nested[at]);
    if w.nested_has_tables {
        w.nested.remove(at);
    }
}
