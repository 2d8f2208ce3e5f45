//! Generates actions and tables of a control.

use super::assignment::{assign, destination};
use super::expression::{expression, literal};
use super::extern_call::{algorithm, egress_spec};
use super::scope::{Action, CodeKind, Table, Ty};
use super::statement::statements;
use super::writer::{Writer, line};

/// Declares an action. If it reads the direct meter of a table, `meter_read` is that statement and
/// `of_table` the table.
fn action(w: &mut Writer, meter_read: Option<&str>, of_table: Option<usize>) {
    let name = w.unique_name("a");
    let known = w.variables.len();
    let mut directed = Vec::new();
    let mut data = Vec::new();
    let mut params = Vec::new();
    if of_table.is_none() && w.rng.chance(45) {
        for _ in 0..1 + w.rng.below(3) {
            let direction = *w.rng.pick(&["in", "inout", "out"]);
            let ty = if direction == "in" {
                w.ty()
            } else {
                match w.variable(|v| v.writable) {
                    Some(found) => found.ty,
                    None => Ty::Bit(8),
                }
            };
            let param = w.unique_name("p");
            params.push(format!("{direction} {} {param}", ty.text()));
            w.declare_variable(param, ty, direction != "in");
            directed.push((direction, ty));
        }
    }
    for _ in 0..w.rng.below(4) {
        let ty = match w.rng.below(5) {
            0 => Ty::Bit(9),
            1 => Ty::Bit(16),
            // v1model has no bool that the control plane gives.
            _ => match w.ty() {
                Ty::Bool => Ty::Bit(1),
                ty => ty,
            },
        };
        let param = w.unique_name("p");
        params.push(format!("{} {param}", ty.text()));
        // Several times, so that they are used often.
        for _ in 0..4 {
            w.declare_variable(param.clone(), ty, false);
        }
        data.push(ty);
    }
    line!(w, "action {name}({}) {{", params.join(", "));
    w.code_kind = CodeKind::Action;
    if let Some(read) = meter_read {
        line!(w, "{read}");
    }
    if w.ingress && w.rng.chance(30) {
        match data.iter().position(|ty| *ty == Ty::Bit(9)) {
            Some(at) => {
                let at = params.len() - data.len() + at;
                let param = params[at].rsplit(' ').next().unwrap_or_default().to_owned();
                line!(w, "s.egress_spec = {param};");
            }
            None => egress_spec(w),
        }
    }
    let count = 1 + w.rng.below(4);
    statements(w, count, 1);
    if !directed.is_empty() && w.rng.chance(50) {
        exit_conditionally(w, &params[..directed.len()]);
    }
    w.code_kind = CodeKind::Control;
    line!(w, "}}");
    w.variables.truncate(known);
    w.actions.push(Action { name, directed, data, of_table });
}

/// Writes a conditional `exit`, with assignments of outputs before and after it.
fn exit_conditionally(w: &mut Writer, params: &[String]) {
    let outputs: Vec<String> = params
        .iter()
        .filter(|param| !param.starts_with("in "))
        .filter_map(|param| param.rsplit(' ').next().map(str::to_owned))
        .collect();
    let assign_outputs = |w: &mut Writer| {
        for output in &outputs {
            if let Some(found) = w.variable(|v| v.text == *output)
                && w.rng.chance(60)
            {
                assign(w, &found.text, found.ty, 1);
            }
        }
    };
    assign_outputs(w);
    let cond = expression(w, Ty::Bool, 1);
    line!(w, "if ({cond}) {{");
    assign_outputs(w);
    line!(w, "exit;");
    line!(w, "}}");
    assign_outputs(w);
}

/// Declares actions and tables.
pub(super) fn declare(w: &mut Writer) {
    for _ in 0..1 + w.rng.below(3) {
        action(w, None, None);
    }
    for number in 0..w.rng.below(4) {
        table(w, number);
    }
}

fn table(w: &mut Writer, number: usize) {
    let mut properties = Vec::new();
    let mut meter = None;
    if w.rng.chance(30) {
        let name = w.unique_name("dc");
        let unit = *w.rng.pick(&["packets", "bytes", "packets_and_bytes"]);
        line!(w, "direct_counter(CounterType.{unit}) {name};");
        properties.push(format!("counters = {name};"));
    }
    if w.rng.chance(25) && w.features.direct_meters {
        let name = w.unique_name("dm");
        let unit = *w.rng.pick(&["packets", "bytes"]);
        let width = *w.rng.pick(&[2, 8, 32]);
        line!(w, "direct_meter<bit<{width}>>(MeterType.{unit}) {name};");
        properties.push(format!("meters = {name};"));
        // v1model reads a direct meter into one variable.
        meter = Some(format!("{name}.read({});", destination(w, Ty::Bit(width))));
    }
    if let Some(read) = &meter {
        for _ in 0..2 {
            action(w, Some(read), Some(number));
        }
    }
    let selector = w.rng.chance(12);
    let profile = selector || w.rng.chance(8);
    let allowed = w.features.action_profiles;
    let (selector, profile) = (selector && allowed, profile && allowed);
    if profile {
        let name = w.unique_name("ap");
        if selector {
            let algorithm = algorithm(w);
            line!(w, "action_selector(HashAlgorithm.{algorithm}, 32w16, 32w14) {name};");
        } else {
            line!(w, "action_profile(32w16) {name};");
        }
        properties.push(format!("implementation = {name};"));
    }
    let keys = keys(w, selector);
    let usable: Vec<Action> = w
        .actions
        .iter()
        .filter(|a| match a.of_table {
            Some(table) => meter.is_some() && table == number,
            None => true,
        })
        .cloned()
        .collect();
    // A table with a direct meter needs an action that reads it.
    let mut chosen: Vec<Action> =
        usable.into_iter().filter(|a| a.of_table.is_some() || w.rng.chance(70)).collect();
    // An action without variables for its arguments in scope is left out.
    let mut listed = Vec::new();
    chosen.retain(|action| match super::expression::arguments(w, &action.directed, 1) {
        Some(_) if action.directed.is_empty() => {
            listed.push(format!("{};", action.name));
            true
        }
        Some(arguments) => {
            listed.push(format!("{}({arguments});", action.name));
            true
        }
        None => false,
    });
    let name = w.unique_name("t");
    line!(w, "table {name} {{");
    if !keys.is_empty() {
        let list: Vec<String> = keys
            .iter()
            .map(|(text, _, kind, name)| format!("{text}: {kind} @name(\"{name}\");"))
            .collect();
        line!(w, "key = {{ {} }}", list.join(" "));
    }
    line!(w, "actions = {{ {} NoAction; }}", listed.join(" "));
    if !profile {
        default_action(w, &chosen);
        entries(w, &keys, &chosen);
    }
    for property in properties {
        line!(w, "{property}");
    }
    if w.rng.chance(10) {
        line!(w, "support_timeout = true;");
    }
    let size = *w.rng.pick(&[2, 8, 64, 4096]);
    line!(w, "size = {size};");
    line!(w, "}}");
    let mut actions: Vec<String> = chosen.into_iter().map(|action| action.name).collect();
    actions.push("NoAction".to_owned());
    w.tables.push(Table { name, actions });
}

/// Key expressions: text, width, kind, name.
type Keys = Vec<(String, u32, &'static str, String)>;

fn keys(w: &mut Writer, selector: bool) -> Keys {
    let mut keys = Keys::new();
    let style = w.rng.below(4);
    let mut lpm = false;
    let count = if w.rng.chance(5) { 0 } else { 1 + w.rng.below(3) };
    for number in 0..count + usize::from(selector) * 2 {
        let (text, width) = match w.variable(|v| matches!(v.ty, Ty::Bit(_))) {
            Some(found) if w.rng.chance(75) => match found.ty {
                Ty::Bit(width) => (found.text, width),
                _ => continue,
            },
            _ => {
                let width = w.width();
                (expression(w, Ty::Bit(width), 2), width)
            }
        };
        let kind = if number >= count {
            "selector"
        } else {
            match style {
                0 | 1 => "exact",
                2 if !lpm => {
                    lpm = true;
                    "lpm"
                }
                2 => "exact",
                _ => *w.rng.pick(&["exact", "ternary", "range", "optional", "ternary"]),
            }
        };
        keys.push((text, width, kind, format!("k{number}")));
    }
    keys
}

fn call(w: &mut Writer, action: &Action) -> String {
    let data: Vec<String> = action.data.iter().map(|ty| literal(w, *ty)).collect();
    format!("{}({})", action.name, data.join(", "))
}

fn default_action(w: &mut Writer, actions: &[Action]) {
    // The arguments of a default action with directions would have to be repeated.
    let plain: Vec<&Action> = actions.iter().filter(|a| a.directed.is_empty()).collect();
    let constant = if w.rng.chance(25) { "const " } else { "" };
    match w.rng.pick_any(&plain) {
        Some(action) if w.rng.chance(60) => {
            let call = call(w, action);
            line!(w, "{constant}default_action = {call};");
        }
        _ => line!(w, "{constant}default_action = NoAction();"),
    }
}

/// The kind of priority of entries.
enum Order {
    CodeKind,
    /// `@priority`.
    Marked,
    /// `priority =`, down from this number.
    Given(usize),
}

impl Order {
    /// A random kind. Writes the table properties that it needs.
    fn choose(w: &mut Writer) -> Self {
        match w.rng.below(3) {
            0 => Order::CodeKind,
            1 => Order::Marked,
            _ => {
                if w.rng.chance(40) {
                    line!(w, "largest_priority_wins = false;");
                }
                if w.rng.chance(40) {
                    line!(w, "priority_delta = {};", 1 + w.rng.below(9));
                }
                Order::Given(100)
            }
        }
    }

    /// The texts before and after an entry.
    fn texts(&self, w: &mut Writer, number: usize) -> (String, String) {
        match self {
            Order::Marked if w.rng.chance(70) => {
                (String::new(), format!(" @priority({})", w.rng.below(5)))
            }
            Order::Given(top) if number == 0 || w.rng.chance(60) => {
                (format!("priority = {}: ", top - w.rng.below(50)), String::new())
            }
            _ => (String::new(), String::new()),
        }
    }
}

fn entries(w: &mut Writer, keys: &Keys, actions: &[Action]) {
    let plain: Vec<Action> = actions.iter().filter(|a| a.directed.is_empty()).cloned().collect();
    let has_priority = keys.iter().any(|key| matches!(key.2, "ternary" | "range" | "optional"));
    if keys.is_empty() || plain.is_empty() || !w.rng.chance(if has_priority { 60 } else { 25 }) {
        return;
    }
    let order = if has_priority { Order::choose(w) } else { Order::CodeKind };
    let constant = if matches!(order, Order::Given(_)) { "" } else { "const " };
    line!(w, "{constant}entries = {{");
    for number in 0..1 + w.rng.below(4) {
        let mut sets = Vec::new();
        for (_, width, kind, _) in keys {
            // Unique numbers, so that the entries of an exact table differ.
            let value = format!("{width}w{}", number % (1usize << (*width).min(4)));
            let mask = literal(w, Ty::Bit(*width));
            sets.push(match *kind {
                "ternary" if w.rng.chance(50) => format!("{value} &&& {mask}"),
                "range" if w.rng.chance(50) => {
                    let ones = netkv_ir::Value::from_words(*width, vec![u64::MAX; 16]);
                    format!("{value} .. {width}w{ones}")
                }
                "ternary" | "optional" | "range" if w.rng.chance(30) => "_".to_owned(),
                _ => value,
            });
        }
        let set = if let [one] = sets.as_slice() {
            one.clone()
        } else {
            format!("({})", sets.join(", "))
        };
        let action = w.rng.pick(&plain).clone();
        let call = call(w, &action);
        let (before, behind) = order.texts(w, number);
        line!(w, "{before}{set}: {call}{behind};");
        let narrowest = keys.iter().map(|key| key.1).min().unwrap_or(1);
        if !has_priority && number + 1 >= 1usize << narrowest.min(4) {
            break;
        }
    }
    line!(w, "}}");
}
