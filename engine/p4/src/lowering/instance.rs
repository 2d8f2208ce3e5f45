//! Creates the instances of parsers, controls and extern objects, with their control-plane names.

use std::rc::Rc;

use netkv_ir::{
    ActionParam, ActionProfile, Counter, CounterUnit, Expr, HashAlgorithm, Identity, Meter,
    Register, Span, TableKey, ValueSet,
};

use super::lowerer::Lowerer;
use super::objects::{BlockInstance, Object};
use super::storage::join;
use super::values::RValue;
use crate::annotations::Annotations;
use crate::hir::{HBlock, HExpr, HExprKind, HInstance, HLocal, HTable, Hir, InstanceKind};
use crate::p4info_details::FieldDetails;
use crate::types::Ty;

/// Maximum number of elements of a register, as in p4c for bmv2.
const MAX_REGISTER_SIZE: u32 = i32::MAX as u32;

impl Lowerer<'_> {
    /// Control-plane name of a declaration at `path`.
    pub(super) fn control_name(path: &str, name: &str, annotations: &Annotations) -> String {
        match &annotations.name {
            Some(given) => match given.strip_prefix('.') {
                Some(absolute) => absolute.to_string(),
                None => join(path, given),
            },
            None => join(path, name),
        }
    }

    /// The control plane finds the objects of one kind by their names.
    pub(super) fn check_unique_name(&mut self, kind: &'static str, name: &str, span: Span) {
        if !self.names.insert((kind, name.to_string())) {
            let message = format!(
                "Another {kind} has the control-plane name '{name}'; give one of them another '@name'."
            );
            self.reporter.error(span, message);
        }
    }

    /// Identity whose id and alias `p4info_ids` assigns later.
    pub(super) fn identity(&mut self, name: String, annotations: &Annotations) -> Identity {
        if let Some(id) = annotations.id {
            self.declared_ids.ids.insert(name.clone(), id);
        }
        if !annotations.structured.is_empty() {
            self.details.structured.insert(name.clone(), annotations.structured.clone());
        }
        Identity { alias: name.clone(), name, id: 0, annotations: annotations.others.clone() }
    }

    pub(super) fn member_info(&self, name: &str, ty: &Ty) -> ActionParam {
        ActionParam { name: name.to_string(), width: self.hir.types.width(ty).unwrap_or(1) }
    }

    pub(super) fn instantiate(&mut self, instance: &HInstance, path: &str) -> Option<Object> {
        if self.too_large() {
            return None;
        }
        self.size += 1;
        self.span = instance.span;
        let mut name = Self::control_name(path, &instance.name, &instance.annotations);
        if let InstanceKind::Block(block) = &instance.kind
            && self.hir.blocks[*block].name == instance.name
            && !path.is_empty()
        {
            // A direct type invocation has the name and the `@name` of its type.
            name = Self::control_name(path, &instance.name, &self.hir.blocks[*block].annotations);
        }
        match &instance.kind {
            InstanceKind::Block(block) => self.instantiate_block(*block, &instance.args, name),
            InstanceKind::Extern(of, types) => {
                let kind = match &**of {
                    "register" => "register",
                    "counter" | "direct_counter" => "counter",
                    "meter" | "direct_meter" => "meter",
                    _ => "action profile",
                };
                let known = |profile: &ActionProfile| profile.identity.name == name;
                if let ("action profile", Some(at)) =
                    (kind, self.program.action_profiles.iter().position(known))
                {
                    return Some(Object::Profile(at as u32));
                }
                self.check_unique_name(kind, &name, instance.span);
                let identity = self.identity(name, &instance.annotations);
                self.instantiate_extern(of, types, instance, identity)
            }
        }
    }

    fn instantiate_block(&mut self, block: usize, args: &[HExpr], path: String) -> Option<Object> {
        let hir = self.hir;
        let def = &hir.blocks[block];
        let (mut values, mut objects) = (Vec::new(), Vec::new());
        for (param, arg) in def.ctor_params.iter().zip(args) {
            if let HExprKind::Instance(inner) = &arg.kind {
                let inner = HInstance { name: param.name.clone(), ..(**inner).clone() };
                if let Some(object) = self.instantiate(&inner, &path) {
                    objects.push((param.id, object));
                }
                continue;
            }
            if let Some(object) = self.object(arg) {
                objects.push((param.id, object));
                continue;
            }
            let value = RValue::Scalar(match self.lower_scalar(arg) {
                value @ Expr::Const(_) => value,
                other => {
                    self.reporter.error(arg.span, "A constructor argument must be a constant.");
                    other
                }
            });
            values.push((param.id, value));
        }
        self.env.extend(values.iter().cloned());
        self.objects.extend(objects.iter().cloned());
        // The order of P4Info: p4c puts the objects of an instance in the place of its declaration,
        // and actions that are declared outside of a control before all others.
        let listed: Vec<usize> = tables(hir, def).flat_map(actions).collect();
        let mut global = Vec::new();
        global_actions(hir, def, &mut global);
        for action in global {
            self.add_action(action, &path);
        }
        for local in &def.locals {
            let lowered = match local {
                HLocal::Var(_) => None,
                HLocal::Action(action) => {
                    // P4Info has the actions of tables, and those that a control calls itself.
                    if hir.actions[*action].called || listed.contains(action) {
                        self.add_action(*action, &path);
                    }
                    None
                }
                HLocal::Instance(inner) => {
                    // Its constructor arguments may use those of the enclosing block.
                    self.env.extend(values.iter().cloned());
                    self.instantiate(inner, &path).map(|object| (inner.id, object))
                }
                HLocal::Table(table) if !hir.tables[*table].applied => None,
                HLocal::Table(table) => {
                    self.env.extend(values.iter().cloned());
                    let id = self.add_table(*table, &path);
                    Some((hir.tables[*table].id, Object::Table(id)))
                }
                HLocal::ValueSet(set) => {
                    let id = self.add_value_set(*set, &path);
                    Some((hir.value_sets[*set].id, Object::ValueSet(id)))
                }
            };
            if let Some((id, object)) = lowered {
                self.objects.insert(id, object.clone());
                objects.push((id, object));
            }
        }
        Some(Object::Block(Rc::new(BlockInstance { block, path, values, objects })))
    }

    /// The object that an expression denotes, if any.
    pub(super) fn object(&self, expr: &HExpr) -> Option<Object> {
        match &expr.kind {
            HExprKind::Var(id)
                if matches!(expr.ty, Ty::Extern(..) | Ty::Block(_) | Ty::BlockType(..)) =>
            {
                self.objects.get(id).cloned()
            }
            _ => None,
        }
    }

    /// Name of the enum member with the value of a constant.
    pub(super) fn enum_member(&mut self, expr: &HExpr) -> String {
        let value = self.const_value(expr);
        let Ty::Enum(id) = expr.ty else { return String::new() };
        let members = &self.hir.types.enums[id].members;
        let found = members.iter().find(|(_, v)| Some(v) == value.as_ref());
        found.map(|(name, _)| name.to_string()).unwrap_or_default()
    }

    pub(super) fn algorithm(&mut self, expr: &HExpr) -> HashAlgorithm {
        match self.enum_member(expr).as_str() {
            "crc32" => HashAlgorithm::Crc32,
            "crc32_custom" => HashAlgorithm::Crc32Custom,
            "crc16" => HashAlgorithm::Crc16,
            "crc16_custom" => HashAlgorithm::Crc16Custom,
            "random" => HashAlgorithm::Random,
            "identity" => HashAlgorithm::Identity,
            "csum16" => HashAlgorithm::Csum16,
            _ => HashAlgorithm::Xor16,
        }
    }

    fn unit(&mut self, expr: &HExpr) -> CounterUnit {
        match self.enum_member(expr).as_str() {
            "packets" => CounterUnit::Packets,
            "bytes" => CounterUnit::Bytes,
            _ => CounterUnit::Both,
        }
    }

    fn instantiate_extern(
        &mut self,
        of: &str,
        types: &[Ty],
        instance: &HInstance,
        identity: Identity,
    ) -> Option<Object> {
        let args = &instance.args;
        match (of, args.as_slice()) {
            ("register", [size]) => {
                let size = self.const_u32(size);
                if size == 0 {
                    self.reporter.error(instance.span, "A register has one element at least.");
                }
                if size > MAX_REGISTER_SIZE {
                    let message =
                        format!("A register has {MAX_REGISTER_SIZE} elements at most, not {size}.");
                    self.reporter.error(instance.span, message);
                }
                let element = types.first()?;
                let of = self.hir.types.base(element);
                let width = match self.hir.types.width(element) {
                    Some(width) if of != Ty::Bool && of != Ty::Error => width,
                    _ => {
                        let shown = self.hir.types.show(element);
                        let message = format!(
                            "The elements of a v1model register are bit<W> or int<W>, not {shown}."
                        );
                        self.reporter.error(instance.span, message);
                        1
                    }
                };
                self.details.registers.push(self.types.spec(element));
                self.program.registers.push(Register { identity, width, size });
                Some(Object::Register(self.program.registers.len() as u32 - 1))
            }
            ("counter", [size, unit]) => {
                let (size, unit) = (self.const_u32(size), self.unit(unit));
                self.program.counters.push(Counter { identity, unit, size, direct: None });
                Some(Object::Counter(self.program.counters.len() as u32 - 1))
            }
            ("direct_counter", [unit]) => {
                let unit = self.unit(unit);
                self.declared_ids.direct_externs.insert(identity.name.clone());
                self.program.counters.push(Counter { identity, unit, size: 0, direct: None });
                Some(Object::Counter(self.program.counters.len() as u32 - 1))
            }
            ("meter", [size, unit]) => {
                let (size, unit) = (self.const_u32(size), self.unit(unit));
                self.meter_spans.push(instance.span);
                self.program.meters.push(Meter { identity, unit, size, direct: None });
                Some(Object::Meter(self.program.meters.len() as u32 - 1))
            }
            ("direct_meter", [unit]) => {
                let unit = self.unit(unit);
                self.declared_ids.direct_externs.insert(identity.name.clone());
                self.meter_spans.push(instance.span);
                self.program.meters.push(Meter { identity, unit, size: 0, direct: None });
                Some(Object::Meter(self.program.meters.len() as u32 - 1))
            }
            ("action_profile", [size]) => {
                let size = u64::from(self.const_u32(size));
                let profile = ActionProfile { identity, size, selector: None, tables: Vec::new() };
                self.program.action_profiles.push(profile);
                Some(Object::Profile(self.program.action_profiles.len() as u32 - 1))
            }
            ("action_selector", [algorithm, size, _width]) => {
                let (selector, size) =
                    (Some(self.algorithm(algorithm)), u64::from(self.const_u32(size)));
                let profile = ActionProfile { identity, size, selector, tables: Vec::new() };
                self.program.action_profiles.push(profile);
                Some(Object::Profile(self.program.action_profiles.len() as u32 - 1))
            }
            _ => {
                self.reporter.unsupported(instance.span, &format!("Extern '{of}'"));
                None
            }
        }
    }

    fn add_value_set(&mut self, set: usize, path: &str) -> u32 {
        let hir = self.hir;
        let set = &hir.value_sets[set];
        let name = Self::control_name(path, &set.name, &set.annotations);
        let identity = self.identity(name, &set.annotations);
        let keys = set
            .keys
            .iter()
            .map(|(name, ty, kind, _)| TableKey {
                name: name.to_string(),
                width: hir.types.width(ty).unwrap_or(1),
                kind: *kind,
            })
            .collect();
        let size = u64::from(self.const_u32(&set.size));
        let fields = set.keys.iter().zip(1..).map(|((_, ty, _, annotations), place)| {
            FieldDetails::new(&hir.types, ty, annotations, place)
        });
        self.details.value_sets.push(fields.collect());
        self.program.value_sets.push(ValueSet { identity, keys, size });
        self.program.value_sets.len() as u32 - 1
    }
}

/// The tables of a block that are applied.
fn tables<'h>(hir: &'h Hir, block: &'h HBlock) -> impl Iterator<Item = &'h HTable> {
    block.locals.iter().filter_map(|local| match local {
        HLocal::Table(table) => Some(&hir.tables[*table]).filter(|table| table.applied),
        _ => None,
    })
}

/// The actions that a table lists.
fn actions(table: &HTable) -> impl Iterator<Item = usize> {
    table.actions.iter().map(|entry| entry.action)
}

/// Actions outside of all controls that tables of a block, or of blocks in it, list.
fn global_actions(hir: &Hir, block: &HBlock, found: &mut Vec<usize>) {
    found.extend(tables(hir, block).flat_map(actions).filter(|action| hir.actions[*action].global));
    for local in &block.locals {
        if let HLocal::Instance(HInstance { kind: InstanceKind::Block(inner), .. }) = local {
            global_actions(hir, &hir.blocks[*inner], found);
        }
    }
}
