//! Creates the control-plane description of tables: keys, actions, and entries from the source.

use netkv_ir::{
    Action, ActionCall, ActionId, InitialEntry, Match, MatchKind, Table, TableAction, TableId,
    TableKey, Value,
};
use num_bigint::BigInt;

use super::lowerer::Lowerer;
use super::objects::Object;
use crate::ast::Dir;
use crate::constant_folding;
use crate::hir::{HEntry, HExpr, HParam, HTable, KeySet};
use crate::p4info_details::FieldDetails;
use crate::types::Ty;

/// Size of a table without the property `size`, as in p4c.
const DEFAULT_SIZE: u64 = 1024;

impl Lowerer<'_> {
    pub(super) fn add_table(&mut self, table: usize, path: &str) -> TableId {
        let hir = self.hir;
        let def = &hir.tables[table];
        let id = self.program.tables.len() as TableId;
        let name = Self::control_name(path, &def.name, &def.annotations);
        self.check_unique_name("table", &name, def.span);
        let identity = self.identity(name, &def.annotations);
        let keys: Vec<TableKey> = def
            .keys
            .iter()
            .map(|key| TableKey {
                name: key.name.clone(),
                width: hir.types.width(&key.expr.ty).unwrap_or(1),
                kind: key.kind,
            })
            .collect();
        for key in &def.keys {
            self.types.spec(&key.ty);
        }
        let matched = def.keys.iter().filter(|key| key.kind != MatchKind::Selector);
        let details = (1..)
            .zip(matched)
            .map(|(place, key)| FieldDetails::new(&hir.types, &key.ty, &key.annotations, place));
        self.details.tables.push(details.collect());
        let mut references = Vec::new();
        let mut actions = Vec::new();
        for action in &def.actions {
            let (table_only, default_only) = (action.table_only, action.default_only);
            let refs = (action.annotations.others.clone(), action.annotations.structured.clone());
            references.push(refs);
            let action = self.add_action(action.action, path);
            actions.push(TableAction { action, table_only, default_only });
        }
        let size = match &def.size {
            Some(size) => u64::from(self.const_u32(size)),
            None => DEFAULT_SIZE,
        };
        self.details.action_refs.push(references);
        let default_action = self.lower_action_call(def.default.0, &def.default.1);
        let entries = self.lower_entries(def, &keys);
        let direct_counter = def.counter.and_then(|id| match self.objects.get(&id) {
            Some(Object::Counter(id)) => Some(*id),
            _ => None,
        });
        if let Some(counter) = direct_counter {
            self.attach(def, id, counter, true);
        }
        let direct_meter = def.meter.and_then(|id| match self.objects.get(&id) {
            Some(Object::Meter(id)) => Some(*id),
            _ => None,
        });
        if let Some(meter) = direct_meter {
            self.attach(def, id, meter, false);
        }
        let action_profile = def.profile.and_then(|id| match self.objects.get(&id) {
            Some(Object::Profile(id)) => Some(*id),
            _ => None,
        });
        if let Some(profile) = action_profile {
            self.check_selector_inputs(def, profile);
            self.program.action_profiles[profile as usize].tables.push(id);
        }
        self.program.tables.push(Table {
            identity,
            keys,
            actions,
            default_action,
            const_default: def.const_default,
            entries,
            const_entries: def.const_entries,
            size: size.max(def.entries.len() as u64),
            direct_counter,
            direct_meter,
            action_profile,
            idle_timeout: def.idle_timeout,
        });
        id
    }

    /// bmv2 computes the hash of a selector from the keys of its first table.
    fn check_selector_inputs(&mut self, def: &HTable, profile: u32) {
        let inputs: Vec<_> =
            def.keys.iter().filter(|key| key.kind == MatchKind::Selector).cloned().collect();
        let first = self.selector_inputs.entry(profile).or_insert_with(|| inputs.clone());
        let same = first.len() == inputs.len()
            && first.iter().zip(&inputs).all(|(a, b)| a.name == b.name || a.expr.same_as(&b.expr));
        if !same {
            let message = format!(
                "Table '{}' has other selector keys than the table that shares its action selector.",
                def.name
            );
            self.reporter.error(def.span, message);
        }
    }

    /// Attaches a direct counter or meter to its table.
    fn attach(&mut self, def: &HTable, table: TableId, object: u32, is_counter: bool) {
        let direct = match is_counter {
            true => &mut self.program.counters[object as usize].direct,
            false => &mut self.program.meters[object as usize].direct,
        };
        if direct.replace(table).is_some() {
            self.reporter.error(def.span, "A direct counter or meter belongs to one table only.");
        }
    }

    pub(super) fn add_action(&mut self, action: usize, path: &str) -> ActionId {
        let in_table =
            self.hir.tables.iter().any(|table| {
                table.applied && table.actions.iter().any(|entry| entry.action == action)
            });
        let hir = self.hir;
        let def = &hir.actions[action];
        let path = if def.global { "" } else { path };
        let name = Self::control_name(path, &def.name, &def.annotations);
        if let Some(id) = self.actions.get(&(action, name.clone())) {
            return *id;
        }
        self.check_unique_name("action", &name, def.span);
        let key = (action, name.clone());
        let identity = self.identity(name, &def.annotations);
        // Only a table leaves parameters to the control plane.
        let data: Vec<&HParam> =
            def.params.iter().filter(|p| in_table && p.dir == Dir::None).collect();
        for param in &data {
            self.types.spec(&param.ty);
            let base = self.hir.types.base(&param.ty);
            if matches!(base, Ty::Bool | Ty::Error) {
                let message = format!(
                    "The control plane gives '{}' its value, so it must be a bit<W>, an int<W> or \
                     an enum with such a type in v1model, not a {}.",
                    param.name,
                    self.hir.types.show(&param.ty)
                );
                self.reporter.error(def.span, message);
            }
        }
        self.details.actions.push(
            (1..)
                .zip(&data)
                .map(|(place, param)| {
                    FieldDetails::new(&hir.types, &param.ty, &param.annotations, place)
                })
                .collect(),
        );
        let params = data
            .into_iter()
            .map(|p| self.member_info(p.annotations.name.as_ref().unwrap_or(&p.name), &p.ty))
            .collect();
        let id = self.program.actions.len() as ActionId;
        self.program.actions.push(Action { identity, params });
        self.actions.insert(key, id);
        id
    }

    fn constant(&mut self, expr: &HExpr) -> Value {
        let width = self.hir.types.width(&expr.ty).unwrap_or(1);
        let value = self.const_value(expr).unwrap_or(BigInt::ZERO);
        constant_folding::to_value(&value, width)
    }

    fn lower_action_call(&mut self, action: usize, data: &[HExpr]) -> ActionCall {
        let data = data.iter().map(|value| self.constant(value)).collect();
        ActionCall { action: action as u32, data }
    }

    fn lower_entries(&mut self, def: &HTable, keys: &[TableKey]) -> Vec<InitialEntry> {
        let mut lowered = Vec::new();
        for entry in &def.entries {
            let matches = self.lower_matches(entry, keys);
            let action = self.lower_action_call(entry.action, &entry.data);
            lowered.push(InitialEntry { matches, action, priority: entry.priority });
        }
        lowered
    }

    fn lower_matches(&mut self, entry: &HEntry, keys: &[TableKey]) -> Vec<Match> {
        let mut lowered = Vec::new();
        for (set, key) in entry.keys.iter().zip(keys) {
            let ones = constant_folding::to_value(&BigInt::from(-1), key.width);
            let zero = Value::new(key.width, 0);
            let found = match (key.kind, set) {
                (MatchKind::Exact | MatchKind::Selector, KeySet::Value(v)) => {
                    Match::Exact(self.constant(v))
                }
                (MatchKind::Lpm, KeySet::Value(v)) => Match::Lpm(self.constant(v), key.width),
                (MatchKind::Lpm, KeySet::Any) => Match::Lpm(zero, 0),
                (MatchKind::Lpm, KeySet::Mask(v, mask)) => {
                    let (value, mask) = (self.constant(v), self.constant(mask));
                    match prefix(&mask) {
                        Some(length) => Match::Lpm(value, length),
                        None => {
                            self.reporter.error(
                                entry.span,
                                "The mask of an lpm key must be a prefix: ones, then zeros.",
                            );
                            Match::Lpm(value, 0)
                        }
                    }
                }
                (MatchKind::Ternary, KeySet::Value(v)) => Match::Ternary(self.constant(v), ones),
                (MatchKind::Ternary, KeySet::Any) => Match::Ternary(zero.clone(), zero),
                (MatchKind::Ternary, KeySet::Mask(v, mask)) => {
                    Match::Ternary(self.constant(v), self.constant(mask))
                }
                (MatchKind::Range, KeySet::Value(v)) => {
                    let value = self.constant(v);
                    Match::Range(value.clone(), value)
                }
                (MatchKind::Range, KeySet::Any) => Match::Range(zero, ones),
                (MatchKind::Range, KeySet::Range(low, high)) => {
                    Match::Range(self.constant(low), self.constant(high))
                }
                (MatchKind::Optional, KeySet::Value(v)) => Match::Optional(Some(self.constant(v))),
                (MatchKind::Optional, KeySet::Any) => Match::Optional(None),
                (kind, _) => {
                    let kind = format!("{kind:?}").to_lowercase();
                    let message = format!(
                        "This is not a value for key '{}', which is matched {kind}.",
                        key.name
                    );
                    self.reporter.error(entry.span, message);
                    Match::Exact(zero)
                }
            };
            lowered.push(found);
        }
        lowered
    }
}

/// Length of the prefix of a mask. `None`: the mask is not ones followed by zeros.
fn prefix(mask: &Value) -> Option<u32> {
    let bits = |i: u32| mask.words[(i / 64) as usize] >> (i % 64) & 1 == 1;
    let length = (0..mask.width).rev().take_while(|i| bits(*i)).count() as u32;
    let rest = (0..mask.width - length).any(bits);
    (!rest).then_some(length)
}
