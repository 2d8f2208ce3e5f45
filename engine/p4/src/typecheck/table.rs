//! Checks tables: properties, keys, and lists of actions.

use netkv_ir::MatchKind;
use num_bigint::BigInt;

use super::call::applies_table;
use super::state::Checker;
use super::symbol::{ExpectedSymbol, Symbol};
use crate::annotations::Annotations;
use crate::ast::{
    ActionRef, Annotation, Arg, Decl, Dir, Expr, ExprKind, Key, Name, Property, PropertyValue,
};
use crate::diagnostics::did_you_mean;
use crate::hir::{CallArg, HExpr, HExprKind, HKey, HLocal, HTable, HTableAction};
use crate::types::Ty;

const PROPERTIES: &[&str] = &[
    "key",
    "actions",
    "default_action",
    "size",
    "entries",
    "implementation",
    "counters",
    "meters",
    "support_timeout",
    "largest_priority_wins",
    "priority_delta",
];

impl Checker<'_> {
    pub(super) fn check_table(
        &mut self,
        decl: &Decl,
        name: &Name,
        properties: &[Property],
        locals: &mut Vec<HLocal>,
    ) -> Option<usize> {
        let mut table = HTable {
            id: self.new_id(),
            name: name.text.clone(),
            annotations: self.check_annotations(&decl.annotations),
            keys: Vec::new(),
            actions: Vec::new(),
            default: (0, Vec::new()),
            const_default: false,
            entries: Vec::new(),
            const_entries: false,
            largest_priority_wins: true,
            priority_delta: 1,
            size: None,
            counter: None,
            meter: None,
            profile: None,
            idle_timeout: false,
            applied: false,
            span: name.span,
        };
        let mut default = None;
        let mut entries = None;
        self.check_property_order(properties);
        for property in properties {
            match &property.value {
                PropertyValue::Keys(keys) => table.keys = self.check_keys(keys),
                PropertyValue::Actions(actions) => {
                    table.actions = self.check_table_actions(actions)
                }
                PropertyValue::Entries(found) => {
                    entries = Some(found);
                    table.const_entries = property.constant;
                }
                PropertyValue::Expr(expr) if &*property.name.text == "default_action" => {
                    default = Some(expr);
                    table.const_default = property.constant;
                }
                PropertyValue::Expr(expr) => {
                    self.check_property(&mut table, property, expr, locals)
                }
            }
        }
        if table.actions.is_empty() && !properties.iter().any(|p| &*p.name.text == "actions") {
            self.error(name.span, format!("Table '{}' has no property 'actions'.", name.text));
        }
        match default {
            Some(expr) => {
                if let Some((action, data)) = self.check_action_call(&table, expr, true) {
                    table.default = (action, data);
                }
            }
            None => self.set_default_to_no_action(&mut table),
        }
        if let Some(entries) = entries {
            self.check_entries(&mut table, entries);
        }
        let id = self.hir.tables.len();
        self.hir.tables.push(table);
        self.declare(name, Symbol::Table(id));
        Some(id)
    }

    /// Reports properties that are given twice, or before a property that they refer to.
    fn check_property_order(&mut self, properties: &[Property]) {
        let position = |name: &str| properties.iter().position(|p| &*p.name.text == name);
        for (i, property) in properties.iter().enumerate() {
            let name = &property.name;
            if position(&name.text).is_some_and(|first| first < i) {
                self.error(name.span, format!("Property '{}' is given twice.", name.text));
            }
            let needs: &[&str] = match &*name.text {
                "default_action" => &["actions"],
                "entries" => &["key", "actions"],
                _ => &[],
            };
            for needed in needs {
                match position(needed) {
                    Some(at) if at > i => {
                        let message = format!("'{}' must stand after '{needed}'.", name.text);
                        self.error(name.span, message);
                    }
                    None if *needed == "key" => {
                        self.error(name.span, "A table without keys has no entries.");
                    }
                    _ => {}
                }
            }
        }
    }

    fn check_keys(&mut self, keys: &[Key]) -> Vec<HKey> {
        let mut checked = Vec::new();
        for key in keys {
            let expr = self.check_expr(&key.expr, None);
            let ty = expr.ty.clone();
            let expr = self.convert_to_underlying_type(expr);
            if expr.ty == Ty::InfInt {
                self.error(
                    key.expr.span,
                    "The width of this key is not known; write it with one, such as 8w1.",
                );
            } else if expr.ty != Ty::Unknown && self.hir.types.width(&expr.ty).is_none() {
                let shown = self.show(&expr.ty);
                self.error(key.expr.span, format!("A key of a table is a scalar, not a {shown}."));
            }
            let kind = match &*key.kind.text {
                "exact" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                "optional" => MatchKind::Optional,
                "selector" => MatchKind::Selector,
                text => {
                    if self.match_kinds.contains(text) {
                        self.reporter.unsupported(key.kind.span, &format!("Match kind '{text}'"));
                    } else {
                        let hint = did_you_mean(text, self.match_kinds.iter().map(|k| &**k));
                        self.error(key.kind.span, format!("'{text}' is not a match kind.{hint}"));
                    }
                    MatchKind::Exact
                }
            };
            let annotations = self.check_annotations(&key.annotations);
            let name = match &annotations.name {
                Some(name) => name.to_string(),
                None if has_key_name(&key.expr) || expr.ty == Ty::Unknown => {
                    self.field_name(&expr).unwrap_or_else(|| key_name(&key.expr))
                }
                None => {
                    self.error(
                        key.expr.span,
                        "This key is an expression, so it needs a name for the control plane: \
                         add '@name(\"...\")' after its match kind.",
                    );
                    String::new()
                }
            };
            checked.push(HKey { expr, ty, annotations, kind, name });
        }
        if checked.iter().filter(|k| k.kind == MatchKind::Lpm).count() > 1 {
            let second = keys.iter().filter(|k| &*k.kind.text == "lpm").nth(1);
            if let Some(key) = second {
                self.error(key.kind.span, "A table can have one lpm key, not more.");
            }
        }
        checked
    }

    /// Name of a key that is a field, with the `@name` of each field. `None`: none has one.
    fn field_name(&self, key: &HExpr) -> Option<String> {
        let mut names = Vec::new();
        let mut at = key;
        let mut renamed = false;
        while let HExprKind::Field(base, index) = &at.kind {
            let Ty::Struct(id) = base.ty else { return None };
            let field = &self.hir.types.structs[id].fields[*index];
            let given = field.annotations.name.as_ref();
            renamed |= given.is_some();
            let name = given.unwrap_or(&field.name);
            names.push(name.strip_prefix('.').unwrap_or(name).to_string());
            if name.starts_with('.') {
                names.reverse();
                return Some(names.join("."));
            }
            at = base;
        }
        let HExprKind::Var(id) = at.kind else { return None };
        let root = self.scopes.iter().rev().flatten().find_map(|(name, symbol)| {
            matches!(symbol, Symbol::Var(var, _) if *var == id).then(|| name.to_string())
        })?;
        names.push(root);
        names.reverse();
        renamed.then(|| names.join("."))
    }

    fn find_action(&mut self, name: &Name) -> Option<usize> {
        match self.lookup(&name.text) {
            Some(Symbol::Action(id)) => Some(*id),
            Some(_) => {
                self.error(name.span, format!("'{}' is not an action.", name.text));
                None
            }
            None => {
                self.report_undeclared(name, ExpectedSymbol::Action);
                None
            }
        }
    }

    fn check_table_actions(&mut self, actions: &[ActionRef]) -> Vec<HTableAction> {
        let mut checked: Vec<HTableAction> = Vec::new();
        for reference in actions {
            let annotations = self.check_annotations(&reference.annotations);
            let Some(action) = self.find_action(&reference.name) else { continue };
            if checked.iter().any(|a| a.action == action) {
                self.error(
                    reference.name.span,
                    format!("Action '{}' is listed twice.", reference.name.text),
                );
                continue;
            }
            let directed: Vec<_> = self.hir.actions[action]
                .params
                .iter()
                .filter(|p| p.dir != Dir::None)
                .cloned()
                .collect();
            if directed.len() != reference.args.len() {
                let message = format!(
                    "Action '{}' has {} parameters with a direction; the table must give as many arguments, not {}.",
                    reference.name.text,
                    directed.len(),
                    reference.args.len()
                );
                self.error(reference.name.span, message);
                continue;
            }
            let mut args = Vec::new();
            for (param, arg) in directed.iter().zip(&reference.args) {
                let value = self.check_expr_of_type(&arg.expr, &param.ty);
                if applies_table(&value) {
                    self.error(
                        value.span,
                        "A table cannot be applied in the argument of an action.",
                    );
                }
                if param.dir != Dir::In {
                    self.check_lvalue(&value, &format!("The argument for '{}'", param.name));
                }
                args.push(CallArg { dir: param.dir, expr: Some(value) });
            }
            let (table_only, default_only) = (annotations.table_only, annotations.default_only);
            checked.push(HTableAction { action, args, annotations, table_only, default_only });
        }
        checked
    }

    /// Makes NoAction the default action of a table that declares none, as p4c does.
    fn set_default_to_no_action(&mut self, table: &mut HTable) {
        let Some(Symbol::Action(action)) = self.scopes[0].get("NoAction") else {
            self.error(table.span, "The table has no default_action, and core.p4 is not included.");
            return;
        };
        let action = *action;
        let found = table.actions.iter().position(|a| a.action == action);
        let index = found.unwrap_or_else(|| {
            let annotations =
                Annotations { others: vec!["@defaultonly".to_string()], ..Annotations::default() };
            let (table_only, default_only) = (false, true);
            let args = Vec::new();
            let checked = HTableAction { action, args, annotations, table_only, default_only };
            table.actions.push(checked);
            table.actions.len() - 1
        });
        table.default = (index, Vec::new());
    }

    /// Checks `action(data)` of an entry or default action. Returns the index in the table's list
    /// of actions, and the action data.
    pub(super) fn check_action_call(
        &mut self,
        table: &HTable,
        expr: &Expr,
        is_default: bool,
    ) -> Option<(usize, Vec<HExpr>)> {
        let no_args: &[Arg] = &[];
        let (callee, args) = match &expr.kind {
            ExprKind::Call(callee, _, args) => (&callee.kind, args.as_slice()),
            kind => (kind, no_args),
        };
        let (ExprKind::Ident(name) | ExprKind::Global(name)) = callee else {
            self.error(expr.span, "Expected a call of an action.");
            return None;
        };
        let action = self.find_action(name)?;
        let Some(index) = table.actions.iter().position(|a| a.action == action) else {
            self.error(
                name.span,
                format!("Action '{}' is not in the table's list of actions.", name.text),
            );
            return None;
        };
        if is_default && table.actions[index].table_only {
            self.error(
                name.span,
                format!("Action '{}' is @tableonly: it cannot be the default.", name.text),
            );
        }
        if !is_default && table.actions[index].default_only {
            self.error(
                name.span,
                format!("Action '{}' is @defaultonly: no entry can use it.", name.text),
            );
        }
        let params = self.hir.actions[action].params.clone();
        let data: Vec<_> = params.iter().filter(|p| p.dir == Dir::None).collect();
        // The source may repeat the arguments of parameters with a direction here.
        let args = if args.len() == params.len() {
            let (repeated, data) = args.split_at(params.len() - data.len());
            self.check_repeated_args(&table.actions[index], repeated);
            data
        } else {
            args
        };
        if args.len() != data.len() {
            let message = format!(
                "Action '{}' takes {} values from the control plane, but {} are given.",
                name.text,
                data.len(),
                args.len()
            );
            self.error(expr.span, message);
            return None;
        }
        let mut checked = Vec::new();
        for (param, arg) in data.iter().zip(args) {
            let value = self.check_expr_of_type(&arg.expr, &param.ty);
            if value.as_const().is_none() && value.ty != Ty::Unknown {
                self.error(arg.expr.span, "The data of an action must be constants here.");
            }
            checked.push(value);
        }
        Some((index, checked))
    }

    /// Reports arguments that are not those of the table's list of actions.
    fn check_repeated_args(&mut self, listed: &HTableAction, repeated: &[Arg]) {
        for (listed, again) in listed.args.iter().zip(repeated) {
            let Some(first) = &listed.expr else { continue };
            let again = self.check_expr_of_type(&again.expr, &first.ty);
            if again.ty != Ty::Unknown && !first.same_as(&again) {
                self.error(
                    again.span,
                    "This argument differs from the one that the table's list of actions gives.",
                );
            }
        }
    }

    fn check_property(
        &mut self,
        table: &mut HTable,
        property: &Property,
        expr: &Expr,
        locals: &mut Vec<HLocal>,
    ) {
        let name = &property.name;
        match &*name.text {
            "size" => {
                let size = self.check_expr(expr, None);
                let fits =
                    matches!(self.hir.types.base(&size.ty), Ty::Bit(_) | Ty::InfInt | Ty::Unknown);
                if !fits {
                    let shown = self.show(&size.ty);
                    self.error(
                        expr.span,
                        format!("The size of a table is a number, not a {shown}."),
                    );
                }
                if size.as_const().is_some_and(|value| *value < BigInt::ZERO) {
                    self.error(expr.span, "The size of a table cannot be negative.");
                }
                if contains_field(&size) {
                    self.error(expr.span, "The size of a table must be a constant.");
                }
                table.size = Some(size);
            }
            "counters" => {
                table.counter = self.check_table_extern(
                    expr,
                    &property.annotations,
                    &["direct_counter"],
                    locals,
                )
            }
            "meters" => {
                table.meter =
                    self.check_table_extern(expr, &property.annotations, &["direct_meter"], locals)
            }
            "implementation" | "action_profile" => {
                table.profile = self.check_table_extern(
                    expr,
                    &property.annotations,
                    &["action_profile", "action_selector"],
                    locals,
                );
            }
            "support_timeout" => {
                let value = self.check_expr_of_type(expr, &Ty::Bool);
                table.idle_timeout =
                    value.as_const().is_some_and(|v| *v != num_bigint::BigInt::ZERO);
            }
            "largest_priority_wins" => {
                let value = self.check_expr_of_type(expr, &Ty::Bool);
                table.largest_priority_wins =
                    value.as_const().is_none_or(|v| *v != num_bigint::BigInt::ZERO);
            }
            "priority_delta" => match self.const_u32(expr, "priority_delta") {
                Some(0) => self.error(expr.span, "priority_delta must be at least 1."),
                delta => table.priority_delta = delta.unwrap_or(1),
            },
            text => {
                let hint = did_you_mean(text, PROPERTIES.iter().copied());
                if hint.is_empty() {
                    self.reporter.warning(
                        name.span,
                        format!("Table property '{text}' is not known here and has no effect."),
                    );
                } else {
                    self.error(name.span, format!("'{text}' is not a table property.{hint}"));
                }
            }
        }
    }

    /// Extern object of a table property: a named instance, or one that is created here.
    fn check_table_extern(
        &mut self,
        expr: &Expr,
        annotations: &[Annotation],
        allowed: &[&str],
        locals: &mut Vec<HLocal>,
    ) -> Option<u32> {
        if let ExprKind::Call(callee, types, args) = &expr.kind
            && let ExprKind::Ident(name) = &callee.kind
            && allowed.contains(&&*name.text)
            && types.is_empty()
        {
            let ty = match self.lookup(&name.text) {
                Some(Symbol::Type(ty)) => ty.clone(),
                _ => Ty::Unknown,
            };
            let own = format!("{}_{}", name.text, self.hir.tables.len());
            let mut annotations = self.check_annotations(annotations);
            // The name stands alone, and tables that give the same name share the object.
            annotations.name = annotations.name.map(|name| format!(".{name}").into());
            let checked = self.make_instance(&ty, args, own.into(), annotations, expr.span)?;
            let id = checked.id;
            locals.push(HLocal::Instance(checked));
            return Some(id);
        }
        let value = self.check_expr(expr, None);
        match (&value.kind, &value.ty) {
            (HExprKind::Var(id), Ty::Extern(of, _))
                if allowed.contains(&&*self.hir.types.externs[*of].name) =>
            {
                Some(*id)
            }
            (_, Ty::Unknown) => None,
            _ => {
                self.error(expr.span, format!("Expected an instance of {}.", allowed.join(" or ")));
                None
            }
        }
    }
}

/// True if a value depends on a field, which no constructor parameter or constant has.
fn contains_field(expr: &HExpr) -> bool {
    matches!(expr.kind, HExprKind::Field(..))
        || expr.kind.operands().into_iter().any(contains_field)
}

/// True if a key has a name without `@name`: p4c demands one for other expressions.
fn has_key_name(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ident(_) | ExprKind::Global(_) | ExprKind::Int(..) => true,
        ExprKind::Member(base, _) => has_key_name(base),
        ExprKind::Index(base, index) => has_key_name(base) && has_key_name(index),
        ExprKind::Slice(base, ..) => has_key_name(base),
        ExprKind::Binary("&", left, right) => has_key_name(left) && has_key_name(right),
        ExprKind::Call(callee, _, args) => {
            args.is_empty()
                && matches!(&callee.kind, ExprKind::Member(base, method)
                    if &*method.text == "isValid" && has_key_name(base))
        }
        _ => false,
    }
}

/// Control-plane name of a key without `@name`: the text of its expression.
fn key_name(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Ident(name) | ExprKind::Global(name) => name.text.to_string(),
        ExprKind::Member(base, name) => format!("{}.{}", key_name(base), name.text),
        ExprKind::Index(base, index) => format!("{}[{}]", key_name(base), key_name(index)),
        ExprKind::Slice(base, high, low) => {
            format!("{}[{}:{}]", key_name(base), key_name(high), key_name(low))
        }
        ExprKind::Int(value, _, 16) => format!("0x{}", value.to_str_radix(16)),
        ExprKind::Int(value, _, 2) => format!("0b{}", value.to_str_radix(2)),
        ExprKind::Int(value, ..) => value.to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Cast(_, arg) => key_name(arg),
        ExprKind::Unary(op, arg) => format!("{op}{}", key_name(arg)),
        ExprKind::Binary(op, left, right) => format!("{} {op} {}", key_name(left), key_name(right)),
        ExprKind::Call(callee, _, args) => match &callee.kind {
            // p4c's name for the validity of a header.
            ExprKind::Member(base, method) if &*method.text == "isValid" => {
                format!("{}.$valid$", key_name(base))
            }
            _ => {
                let args: Vec<String> = args.iter().map(|a| key_name(&a.expr)).collect();
                format!("{}({})", key_name(callee), args.join(", "))
            }
        },
        _ => "key".to_string(),
    }
}
