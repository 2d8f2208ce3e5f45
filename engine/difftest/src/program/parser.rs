//! Generates the parser.

use super::assignment::{assign, assignment};
use super::declarations::declare_parameters;
use super::expression::{expression, literal};
use super::scope::{CodeKind, Ty};
use super::statement::statements;
use super::writer::{Writer, line};

/// The header that a state extracts.
enum ExtractedHeader {
    Header(String),
    Varbit(String, usize),
    Stack(String),
}

/// Writes the parser: a sequence of states with forward transitions, and loops over stacks.
pub(super) fn write(w: &mut Writer) {
    w.code_kind = CodeKind::Parser;
    declare_parameters(w, true);
    let layout = w.layout.clone();
    let mut reads: Vec<ExtractedHeader> = Vec::new();
    for (name, _) in &layout.headers {
        reads.push(ExtractedHeader::Header(name.clone()));
    }
    for stack in &layout.stacks {
        let at = 1 + w.rng.below(reads.len());
        reads.insert(at, ExtractedHeader::Stack(stack.name.clone()));
    }
    if layout.union.is_some() {
        let (at, header) = (1 + w.rng.below(reads.len()), *w.rng.pick(&["u.a", "u.b"]));
        reads.insert(at, ExtractedHeader::Header(header.to_owned()));
    }
    if let Some((name, of)) = &layout.varbit {
        let at = 1 + w.rng.below(reads.len());
        reads.insert(
            at,
            ExtractedHeader::Varbit(name.clone(), layout.types[*of].varbit.unwrap_or(8)),
        );
    }
    line!(
        w,
        "parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{"
    );
    let set = w.rng.chance(30).then(|| {
        let width = *w.rng.pick(&[8, 16, 32, 128]);
        line!(w, "value_set<bit<{width}>>(4) vs;");
        width
    });
    let count = reads.len();
    for (at, read) in reads.iter().enumerate() {
        let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
        line!(w, "state {name} {{");
        let known = w.variables.len();
        if !w.keeps_fields {
            lookahead_or_advance(w);
        }
        let is_stack = match read {
            ExtractedHeader::Header(header) => {
                line!(w, "p.extract(h.{header});");
                false
            }
            ExtractedHeader::Varbit(header, most) => {
                varbit(w, header, *most);
                false
            }
            ExtractedHeader::Stack(stack) => {
                line!(w, "p.extract(h.{stack}.next);");
                true
            }
        };
        if w.rng.chance(30) {
            if w.keeps_fields {
                metadata(w);
            } else {
                statements(w, 1, 0);
            }
        }
        if w.rng.chance(15) {
            // The condition mostly holds; else the following code would never run.
            let cond = match w.variable(|v| v.text.starts_with("h.") && v.ty != Ty::Bool) {
                Some(found) => format!("{} != {}", found.text, literal(w, found.ty)),
                None => "s.packet_length > 32w3".to_owned(),
            };
            let error = *w.rng.pick(&["Odd", "Even", "NoMatch"]);
            line!(w, "verify({cond}, error.{error});");
        }
        let own = if let ExtractedHeader::Stack(stack) = read {
            Some((stack.as_str(), name.as_str()))
        } else {
            None
        };
        let prefix = match read {
            ExtractedHeader::Header(name) | ExtractedHeader::Varbit(name, _) => {
                format!("h.{name}.")
            }
            ExtractedHeader::Stack(name) => format!("h.{name}[0]."),
        };
        transition(w, at, count, own.filter(|_| is_stack), set, &prefix);
        w.variables.truncate(known);
        line!(w, "}}");
    }
    line!(w, "}}");
}

/// Writes an assignment to metadata that no recirculation preserves.
fn metadata(w: &mut Writer) {
    if let Some(to) = w.variable(|v| v.text.starts_with("m.in1.")) {
        assign(w, &to.text, to.ty, 1);
    }
}

/// Sometimes writes a lookahead, an advance or an assignment.
fn lookahead_or_advance(w: &mut Writer) {
    if w.rng.chance(15) {
        let width = w.width();
        let name = w.unique_name("look");
        line!(w, "bit<{width}> {name} = p.lookahead<bit<{width}>>();");
        for _ in 0..3 {
            w.declare_variable(name.clone(), Ty::Bit(width), false);
        }
    }
    if w.rng.chance(7) {
        match w.variable(|v| matches!(v.ty, Ty::Bit(4..))) {
            Some(found) if w.rng.chance(50) => {
                line!(w, "p.advance((bit<32>){}[3:0]);", found.text);
                // Headers start at a byte boundary.
                line!(w, "p.advance(32w8 - ((bit<32>){}[3:0] & 32w7));", found.text);
            }
            _ => {
                let bytes = 8 * w.rng.below(5);
                line!(w, "p.advance(32w{bytes});");
            }
        }
    }
    if w.rng.chance(10) {
        assignment(w);
    }
}

fn varbit(w: &mut Writer, header: &str, most: usize) {
    let bytes = match w.variable(|v| matches!(v.ty, Ty::Bit(6..))) {
        Some(found) if w.rng.chance(60) => format!("(bit<32>){}[5:0]", found.text),
        _ => "(bit<32>)(p.lookahead<bit<8>>() & 8w31)".to_owned(),
    };
    match w.rng.below(8) {
        0 => line!(w, "p.extract(h.{header}, {bytes});"),
        1 => line!(w, "p.extract(h.{header}, 32w{most});"),
        _ => line!(w, "p.extract(h.{header}, ({bytes}) << 3);"),
    }
}

/// Writes a state's transition: forward, or back to the state in a loop over a stack.
fn transition(
    w: &mut Writer,
    at: usize,
    count: usize,
    stack: Option<(&str, &str)>,
    set: Option<u32>,
    prefix: &str,
) {
    let next = if at + 1 < count { format!("s{}", at + 1) } else { "accept".to_owned() };
    if stack.is_none() && w.rng.chance(25) {
        line!(w, "transition {next};");
        return;
    }
    let mut targets = vec![next.clone(), next, "accept".to_owned()];
    if at + 2 < count {
        targets.push(format!("s{}", at + 2));
    }
    if w.rng.chance(10) {
        targets.push("reject".to_owned());
    }
    // The default case never loops: p4c rejects a parser without a path to its end.
    let without_loop = targets.len();
    let (mut keys, mut widths) = (Vec::new(), Vec::new());
    if let Some((stack, own)) = stack {
        targets.extend([own.to_owned(), own.to_owned(), own.to_owned()]);
        let layout = &w.layout;
        let of = layout.stacks.iter().find(|other| other.name == stack);
        let field = of.and_then(|of| {
            layout.types[of.of].fields.iter().find_map(|(name, ty)| match ty {
                Ty::Bit(width) => Some((name.clone(), *width)),
                _ => None,
            })
        });
        if let Some((field, width)) = field {
            keys.push(format!("h.{stack}.last.{field}"));
            widths.push(width);
        } else {
            keys.push(format!("h.{stack}.lastIndex"));
            widths.push(32);
        }
    }
    if let Some(width) = set
        && keys.is_empty()
        && w.rng.chance(40)
    {
        let key = expression(w, Ty::Bit(width), 1);
        line!(w, "transition select({key}) {{");
        let target = w.rng.pick(&targets).clone();
        line!(w, "vs: {target};");
        let value = literal(w, Ty::Bit(width));
        line!(w, "{value}: {};", targets[0]);
        line!(w, "default: {};", targets[1]);
        line!(w, "}}");
        return;
    }
    for _ in 0..(1 + w.rng.below(3)).saturating_sub(keys.len()) {
        // Fields that were just extracted: other keys are often 0 for all packets.
        let read = w.variable(|v| v.text.starts_with(prefix) && matches!(v.ty, Ty::Bit(_)));
        let any = w.variable(|v| matches!(v.ty, Ty::Bit(_)));
        let found = if w.rng.chance(75) { read.or(any) } else { any };
        let (key, width) = match found {
            Some(found) if w.rng.chance(85) => match found.ty {
                Ty::Bit(width) => (found.text, width),
                _ => continue,
            },
            _ => {
                let width = w.width().min(64);
                (expression(w, Ty::Bit(width), 1), width)
            }
        };
        keys.push(key);
        widths.push(width);
    }
    if keys.is_empty() {
        line!(w, "transition accept;");
        return;
    }
    line!(w, "transition select({}) {{", keys.join(", "));
    let mut may_leave = false;
    for _ in 0..1 + w.rng.below(4) {
        let sets: Vec<String> = widths.iter().map(|width| key_set(w, *width)).collect();
        let set = if let [one] = sets.as_slice() {
            one.clone()
        } else {
            format!("({})", sets.join(", "))
        };
        let target = w.rng.pick(&targets).clone();
        may_leave |= targets[..without_loop].contains(&target);
        line!(w, "{set}: {target};");
    }
    if w.rng.chance(80) || !may_leave {
        let target = w.rng.pick(&targets[..without_loop]).clone();
        line!(w, "default: {target};");
    }
    line!(w, "}}");
}

fn key_set(w: &mut Writer, width: u32) -> String {
    let ty = Ty::Bit(width);
    match w.rng.below(6) {
        0 => "_".to_owned(),
        1 => format!("{} &&& {}", literal(w, ty), literal(w, ty)),
        2 => {
            let (a, b) = (w.rng.value(width.min(60)).words[0], w.rng.value(width.min(60)).words[0]);
            format!("{width}w{} .. {width}w{}", a.min(b), a.max(b))
        }
        _ => literal(w, ty),
    }
}
