//! Generates expressions of a given type.

use super::scope::{CodeKind, Function, Ty, Variable};
use super::writer::Writer;

/// A random constant of a width, in hexadecimal with all digits.
fn digits(w: &mut Writer, width: u32) -> String {
    let value = match w.rng.below(6) {
        0 => return "0".to_owned(),
        1 => return "1".to_owned(),
        2 => netkv_ir::Value::from_words(width, vec![u64::MAX; width.div_ceil(64) as usize]),
        3 => netkv_ir::Value::new(width, w.rng.below(16) as u128),
        _ => w.rng.value(width),
    };
    value.to_string()
}

/// A literal. The highest bit of a signed one is 0, so that it needs no sign.
pub(super) fn literal(w: &mut Writer, ty: Ty) -> String {
    match ty {
        Ty::Bool => w.rng.pick(&["true", "false"]).to_string(),
        Ty::Bit(width) => format!("{width}w{}", digits(w, width)),
        Ty::Int(1) => "1s0".to_owned(),
        Ty::Int(width) => {
            let sign = if w.rng.chance(30) { "-" } else { "" };
            let digits = digits(w, width - 1);
            format!("{sign}{width}s{digits}")
        }
    }
}

/// A variable of another type, with a conversion.
fn converted(w: &mut Writer, ty: Ty) -> Option<String> {
    let found = w.variable(|v| v.ty != Ty::Bool)?;
    Some(match (ty, found.ty) {
        (Ty::Bit(to), Ty::Bit(_)) => format!("(bit<{to}>){}", found.text),
        (Ty::Bit(to), Ty::Int(from)) => format!("(bit<{to}>)(bit<{from}>){}", found.text),
        (Ty::Int(to), Ty::Int(_)) => format!("(int<{to}>){}", found.text),
        (Ty::Int(to), Ty::Bit(from)) => format!("(int<{to}>)(int<{from}>){}", found.text),
        _ => return None,
    })
}

fn simple_operand(w: &mut Writer, ty: Ty) -> String {
    let choice = w.rng.below(100);
    if choice < 55
        && let Some(Variable { text, .. }) = w.variable(|v| v.ty == ty)
    {
        return text;
    }
    if choice < 80
        && let Some(text) = converted(w, ty)
    {
        return format!("({text})");
    }
    match ty {
        Ty::Bool => comparison(w, 0),
        _ if choice < 85 => element(w, ty).unwrap_or_else(|| literal(w, ty)),
        _ => literal(w, ty),
    }
}

/// A field of a stack's element, with a run-time index.
pub(super) fn element(w: &mut Writer, ty: Ty) -> Option<String> {
    if w.code_kind == CodeKind::Function || w.code_kind == CodeKind::Checksum {
        return None;
    }
    let layout = &w.layout;
    let fits = layout.stacks.iter().flat_map(|stack| {
        let fields = layout.types[stack.of].fields.iter().filter(|(_, field)| *field == ty);
        fields.map(|(name, _)| (stack.name.clone(), name.clone()))
    });
    let fits: Vec<(String, String)> = fits.collect();
    let (stack, field) = w.rng.pick_any(&fits)?.clone();
    let index = index(w)?;
    Some(format!("h.{stack}[{index}].{field}"))
}

/// An index into a stack: a variable, often truncated so that it is in range. It is not a
/// parameter: a call may pass a constant, and a constant index out of range is an error.
pub(super) fn index(w: &mut Writer) -> Option<String> {
    if !w.features.any_index {
        return Some("0".to_owned());
    }
    if w.rng.chance(15)
        && let Some(text) = index_with_effect(w)
    {
        return Some(text);
    }
    let from_packet = |v: &Variable| matches!(v.ty, Ty::Bit(_)) && v.text.contains('.');
    let found = w.variable(from_packet)?;
    let Ty::Bit(width) = found.ty else { return None };
    Some(if width > 2 && w.rng.chance(70) { format!("{}[1:0]", found.text) } else { found.text })
}

/// A call with a side effect whose result is an index. (A call without side effects may be a
/// constant.)
fn index_with_effect(w: &mut Writer) -> Option<String> {
    let changes = |f: &Function| {
        matches!(f.result, Ty::Bit(2..)) && f.params.iter().any(|(direction, _)| *direction != "in")
    };
    let fitting: Vec<_> = w.functions.iter().filter(|f| changes(f)).cloned().collect();
    let function = w.rng.pick_any(&fitting)?.clone();
    let arguments = arguments(w, &function.params, 1)?;
    Some(format!("{}({arguments})[1:0]", function.name))
}

/// An expression; `depth` limits its nesting.
pub(super) fn expression(w: &mut Writer, ty: Ty, depth: usize) -> String {
    if depth == 0 || w.rng.chance(20) {
        return simple_operand(w, ty);
    }
    let deeper = depth - 1;
    match ty {
        Ty::Bool => boolean(w, deeper),
        Ty::Bit(width) | Ty::Int(width) => match w.rng.below(12) {
            0..5 => arithmetic(w, ty, deeper),
            5 => shift(w, ty, deeper),
            6 => {
                let op = *w.rng.pick(&["~", "-"]);
                format!("({op}{})", expression(w, ty, deeper))
            }
            7 => {
                let cond = expression(w, Ty::Bool, deeper);
                let (a, b) = (expression(w, ty, deeper), expression(w, ty, deeper));
                format!("({cond} ? {a} : {b})")
            }
            8 => cast(w, ty, deeper),
            9 => call(w, ty, deeper).unwrap_or_else(|| simple_operand(w, ty)),
            10 if matches!(ty, Ty::Bit(_)) => slice(w, width, deeper),
            _ if width > 1 && (w.features.signed_parts || matches!(ty, Ty::Bit(_))) => {
                concatenation(w, ty, width, deeper)
            }
            _ => simple_operand(w, ty),
        },
    }
}

fn arithmetic(w: &mut Writer, ty: Ty, depth: usize) -> String {
    let a = expression(w, ty, depth);
    if matches!(ty, Ty::Bit(_)) && w.rng.chance(4) {
        // v1model divides by powers of 2 only.
        let op = *w.rng.pick(&["/", "%"]);
        let Ty::Bit(width) = ty else { return a };
        let power = w.rng.below(width.min(60) as usize);
        return format!("({a} {op} {width}w{})", 1u64 << power);
    }
    let op = *w.rng.pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|", "+", "-", "^"]);
    format!("({a} {op} {})", expression(w, ty, depth))
}

fn shift(w: &mut Writer, ty: Ty, depth: usize) -> String {
    let value = expression(w, ty, depth);
    let op = *w.rng.pick(&["<<", ">>"]);
    let (Ty::Bit(width) | Ty::Int(width)) = ty else { return value };
    let amount = match w.rng.below(4) {
        0 => format!("{}", w.rng.below(width as usize + 2)),
        1 => {
            // v1model's amounts have at most 8 bits.
            let wide = w.width();
            format!("((bit<8>){})", expression(w, Ty::Bit(wide), depth))
        }
        _ => {
            let narrow = *w.rng.pick(&[2, 3, 4, 5, 6, 7, 8]);
            expression(w, Ty::Bit(narrow), depth)
        }
    };
    format!("({value} {op} {amount})")
}

fn cast(w: &mut Writer, ty: Ty, depth: usize) -> String {
    let other = w.width();
    match ty {
        Ty::Bit(1) if w.rng.chance(50) => format!("((bit<1>){})", expression(w, Ty::Bool, depth)),
        Ty::Bit(width) if w.rng.chance(30) => {
            format!("((bit<{width}>){})", expression(w, Ty::Int(width), depth))
        }
        Ty::Int(width) if w.rng.chance(50) => {
            format!("((int<{width}>){})", expression(w, Ty::Bit(width), depth))
        }
        Ty::Bit(width) => format!("((bit<{width}>){})", expression(w, Ty::Bit(other), depth)),
        Ty::Int(width) => format!("((int<{width}>){})", expression(w, Ty::Int(other), depth)),
        Ty::Bool => format!("((bool){})", expression(w, Ty::Bit(1), depth)),
    }
}

fn slice(w: &mut Writer, width: u32, depth: usize) -> String {
    let wider = |v: &Variable| match v.ty {
        Ty::Bit(has) | Ty::Int(has) => has > width,
        Ty::Bool => false,
    };
    let (text, has) = match w.variable(wider) {
        Some(Variable { text, ty: Ty::Bit(has) | Ty::Int(has), .. }) if w.rng.chance(70) => {
            (text, has)
        }
        _ => {
            let has = width + 1 + w.rng.below(70) as u32;
            (expression(w, Ty::Bit(has), depth), has)
        }
    };
    let low = w.rng.below((has - width) as usize + 1) as u32;
    let text =
        if text.starts_with('(') || !text.contains(' ') { text } else { format!("({text})") };
    format!("{text}[{}:{low}]", low + width - 1)
}

fn concatenation(w: &mut Writer, ty: Ty, width: u32, depth: usize) -> String {
    let high = 1 + w.rng.below(width as usize - 1) as u32;
    let left = match ty {
        Ty::Int(_) => expression(w, Ty::Int(high), depth),
        _ => expression(w, Ty::Bit(high), depth),
    };
    format!("({left} ++ {})", expression(w, Ty::Bit(width - high), depth))
}

/// A call of a function with this result type.
pub(super) fn call(w: &mut Writer, ty: Ty, depth: usize) -> Option<String> {
    if w.code_kind == CodeKind::Function || w.code_kind == CodeKind::Checksum {
        return None;
    }
    let fitting: Vec<_> = w.functions.iter().filter(|f| f.result == ty).cloned().collect();
    let function = w.rng.pick_any(&fitting)?.clone();
    let arguments = arguments(w, &function.params, depth)?;
    Some(format!("{}({arguments})", function.name))
}

/// Arguments for parameters with directions; none if there is no suitable variable.
pub(super) fn arguments(
    w: &mut Writer,
    params: &[(&'static str, Ty)],
    depth: usize,
) -> Option<String> {
    let mut made = Vec::new();
    for (direction, ty) in params {
        made.push(match *direction {
            "in" | "" => expression(w, *ty, depth.min(2)),
            _ => output(w, *ty)?,
        });
    }
    Some(made.join(", "))
}

/// A destination for an output of this type: a variable, a slice of one, or an element of a stack
/// with a run-time index.
fn output(w: &mut Writer, ty: Ty) -> Option<String> {
    if w.code_kind != CodeKind::Function && w.rng.chance(12) {
        if let Some(text) = element(w, ty) {
            return Some(text);
        }
    } else if let Ty::Bit(width) = ty
        && w.rng.chance(12)
    {
        let wider = |has: Ty| matches!(has, Ty::Bit(has) if has > width);
        if let Some(found) = w.variable(|v| v.writable && wider(v.ty))
            && let Ty::Bit(has) = found.ty
        {
            let low = w.rng.below((has - width) as usize + 1) as u32;
            return Some(format!("{}[{}:{low}]", found.text, low + width - 1));
        }
    }
    Some(w.variable(|v| v.ty == ty && v.writable)?.text)
}

fn boolean(w: &mut Writer, depth: usize) -> String {
    match w.rng.below(8) {
        0 => format!("(!{})", expression(w, Ty::Bool, depth)),
        1 | 2 => {
            let op = *w.rng.pick(&["&&", "||"]);
            format!("({} {op} {})", expression(w, Ty::Bool, depth), expression(w, Ty::Bool, depth))
        }
        _ => comparison(w, depth),
    }
}

fn comparison(w: &mut Writer, depth: usize) -> String {
    let in_pipeline = w.code_kind != CodeKind::Function;
    let in_control = matches!(w.code_kind, CodeKind::Action | CodeKind::Control);
    match w.rng.below(11) {
        0..2 if in_pipeline => {
            let paths = w.layout.header_paths();
            format!("{}.isValid()", w.rng.pick(&paths).0)
        }
        2 if in_pipeline => {
            // Two headers of one type.
            let paths = w.layout.header_paths();
            let a = w.rng.pick(&paths).clone();
            let same: Vec<_> = paths.iter().filter(|path| path.1 == a.1).collect();
            let op = *w.rng.pick(&["==", "!="]);
            format!("({} {op} {})", a.0, w.rng.pick(&same).0)
        }
        3 if in_pipeline && w.rng.chance(30) => "(m.in1 == m.in2)".to_owned(),
        4 if in_control && w.rng.chance(30) => {
            let op = *w.rng.pick(&["==", "!="]);
            let errors =
                ["NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "Odd", "Even"];
            format!("(s.parser_error {op} error.{})", w.rng.pick(&errors))
        }
        10 if in_control => {
            let op = *w.rng.pick(&["==", "!="]);
            let kind = *w.rng.pick(&["first", "second", "last"]);
            format!("((kind_t){} {op} kind_t.{kind})", expression(w, Ty::Bit(4), depth))
        }
        _ => {
            let found = w.variable(|v| v.ty != Ty::Bool);
            let ty = match found {
                Some(found) => found.ty,
                None => Ty::Bit(8),
            };
            let op = *w.rng.pick(&["==", "!=", "<", "<=", ">", ">=", "==", "<"]);
            let a = if depth == 0 {
                w.variable(|v| v.ty == ty).map_or_else(|| literal(w, ty), |found| found.text)
            } else {
                expression(w, ty, depth)
            };
            let b = if depth == 0 { literal(w, ty) } else { expression(w, ty, depth) };
            format!("({a} {op} {b})")
        }
    }
}
