//! Generates random requests of a control plane for any program.

use netkv_dataplane::{EntryAction, TableEntry, WeightedAction};
use netkv_ir::{Expr, Match, MatchKind, Op, Program, Table, Value};

use crate::entries::{
    clone_session, has_priority, key_match, meter_config, replicas, value_set_members,
};
use crate::request::{Matches, Request};
use crate::rng::Rng;
use crate::traversal;
use crate::value_pool::ValuePool;

/// Entries of a table that is filled: more than those from which on compiled code prefetches.
const CROWD: usize = 2_040;

/// Generates requests for one program. It records entries, groups and sessions for later changes.
pub struct StateGenerator<'p> {
    program: &'p Program,
    /// Key expressions of each table, at one of its applications.
    keys: Vec<Vec<Expr>>,
    inserted: Vec<TableEntry>,
    groups: Vec<u32>,
    sessions: Vec<u32>,
}

impl<'p> StateGenerator<'p> {
    /// A generator for one program.
    pub fn new(program: &'p Program) -> Self {
        let mut keys: Vec<Vec<Expr>> = vec![Vec::new(); program.tables.len()];
        for apply in traversal::applies(program) {
            keys[apply.table as usize] = apply.keys.clone();
        }
        Self { program, keys, inserted: Vec::new(), groups: Vec::new(), sessions: Vec::new() }
    }

    /// Requests for an initial state: replication, registers, profiles, value sets, entries,
    /// meters.
    pub fn initial(&mut self, pool: &mut ValuePool, rng: &mut Rng) -> Vec<Request> {
        let mut requests = Vec::new();
        self.replication(pool, rng, &mut requests);
        for set in &self.program.value_sets {
            let (members, samples) = value_set_members(&set.keys, set.size, pool, rng);
            let at = self.program.value_sets.iter().position(|other| other == set).unwrap_or(0);
            pool.value_sets.insert(at as u32, samples);
            requests.push(Request::SetValueSet { set: set.identity.id, members });
        }
        for _ in 0..self.program.registers.len() * 3 {
            requests.extend(self.register(pool, rng));
        }
        for _ in 0..self.program.meters.len() * 2 {
            requests.extend(self.meter(rng));
        }
        self.profiles(pool, rng, &mut requests);
        for table in 0..self.program.tables.len() {
            if rng.chance(30) {
                requests.extend(self.default_action(table, pool, rng));
            }
            let count = if rng.chance(10) { 40 } else { rng.below(9) };
            for _ in 0..count {
                let Some(entry) = self.entry(table, pool, rng) else { break };
                self.insert(entry, pool, rng, &mut requests);
            }
            if rng.chance(30) {
                self.crowd(table, pool, rng, &mut requests);
            }
        }
        requests
    }

    /// Fills an exact-match table that has room, mostly with keys that no packet has. Tables with
    /// few entries are neither enlarged nor prefetched.
    fn crowd(
        &self,
        table: usize,
        pool: &mut ValuePool,
        rng: &mut Rng,
        requests: &mut Vec<Request>,
    ) {
        let ir = &self.program.tables[table];
        let is_exact = ir.keys.iter().all(|key| key.kind == MatchKind::Exact);
        let bits: u32 = ir.keys.iter().map(|key| key.width).sum();
        if ir.size < 2 * CROWD as u64 || !is_exact || bits < 24 {
            return;
        }
        for _ in 0..CROWD {
            let Some(mut entry) = self.entry(table, pool, rng) else { break };
            for (_, one) in &mut entry.matches {
                if let Match::Exact(value) = one {
                    *value = rng.value(value.width);
                }
            }
            requests.push(Request::Insert(entry));
        }
    }

    /// Requests for one change of the state.
    pub fn change(&mut self, pool: &mut ValuePool, rng: &mut Rng) -> Vec<Request> {
        let mut requests = Vec::new();
        let table = rng.below(self.program.tables.len());
        let is_table = !self.program.tables.is_empty();
        let known = rng.pick_any(&self.inserted).cloned();
        match rng.below(10) {
            0..3 if is_table => {
                if let Some(entry) = self.entry(table, pool, rng) {
                    self.insert(entry, pool, rng, &mut requests);
                }
            }
            3..5 => {
                if let Some(mut entry) = known {
                    let at = self.table_at(entry.table_id);
                    if let Some(action) = at.and_then(|at| self.entry_action(at, pool, rng)) {
                        entry.action = action;
                        requests.push(Request::Modify(entry));
                    }
                }
            }
            5 => {
                if let Some(TableEntry { table_id: table, matches, priority, .. }) = known {
                    requests.push(Request::Delete { table, matches, priority });
                }
            }
            6 if is_table => requests.extend(self.default_action(table, pool, rng)),
            7 => requests.extend(self.meter(rng)),
            8 => requests.extend(self.replication_change(rng)),
            _ => requests.extend(self.register(pool, rng)),
        }
        requests
    }

    fn table_at(&self, id: u32) -> Option<usize> {
        self.program.tables.iter().position(|table| table.identity.id == id)
    }

    fn insert(
        &mut self,
        entry: TableEntry,
        pool: &mut ValuePool,
        rng: &mut Rng,
        requests: &mut Vec<Request>,
    ) {
        let at = self.table_at(entry.table_id).unwrap_or(0);
        for (key, one) in &entry.matches {
            if let Some(expr) = self.keys[at].get(*key as usize - 1) {
                pool.add_entry_key(expr, one);
            }
        }
        requests.push(Request::Insert(entry.clone()));
        if self.program.tables[at].direct_meter.is_some() && rng.chance(70) {
            requests.push(Request::WriteDirectMeter {
                table: entry.table_id,
                matches: entry.matches.clone(),
                priority: entry.priority,
                config: Some(meter_config(rng)),
            });
        }
        self.inserted.push(entry);
    }

    fn entry(&self, table: usize, pool: &mut ValuePool, rng: &mut Rng) -> Option<TableEntry> {
        let ir = &self.program.tables[table];
        if ir.const_entries || ir.keys.iter().all(|key| key.kind == MatchKind::Selector) {
            return None;
        }
        let action = self.entry_action(table, pool, rng)?;
        let mut matches = Matches::new();
        let mut id = 0;
        for (at, key) in ir.keys.iter().enumerate() {
            if key.kind == MatchKind::Selector {
                continue;
            }
            id += 1;
            let likely = match self.keys[table].get(at) {
                Some(expr) => pool.sample(rng, expr),
                None => pool.value(rng, key.width, None),
            };
            if let Some(one) = key_match(key, likely, pool, rng) {
                matches.push((id, one));
            }
        }
        Some(TableEntry {
            table_id: ir.identity.id,
            matches,
            action,
            priority: if has_priority(ir) { rng.between(1, 12) as u32 } else { 0 },
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: if ir.idle_timeout { rng.between(0, 5) * 1_000_000 } else { 0 },
        })
    }

    fn entry_action(
        &self,
        table: usize,
        pool: &mut ValuePool,
        rng: &mut Rng,
    ) -> Option<EntryAction> {
        let ir = &self.program.tables[table];
        if let Some(profile) = ir.action_profile {
            let selector = self.program.action_profiles[profile as usize].selector.is_some();
            return Some(match rng.below(if selector { 3 } else { 1 }) {
                0 => EntryAction::Member(rng.between(1, 5) as u32),
                1 => EntryAction::Group(rng.between(1, 3) as u32),
                _ => {
                    let one = |rng: &mut Rng, pool: &mut ValuePool| {
                        let (action_id, params) = self.action(ir, true, pool, rng)?;
                        Some(WeightedAction { action_id, params, weight: 1 + rng.below(3) as u32 })
                    };
                    let count = 1 + rng.below(3);
                    let actions: Option<Vec<_>> = (0..count).map(|_| one(rng, pool)).collect();
                    EntryAction::OneShot(actions?)
                }
            });
        }
        let (action_id, params) = self.action(ir, true, pool, rng)?;
        Some(EntryAction::Direct { action_id, params })
    }

    /// An action of a table with parameters.
    fn action(
        &self,
        table: &Table,
        in_entry: bool,
        pool: &mut ValuePool,
        rng: &mut Rng,
    ) -> Option<(u32, Vec<Value>)> {
        let fits =
            |a: &&netkv_ir::TableAction| if in_entry { !a.default_only } else { !a.table_only };
        let allowed: Vec<_> = table.actions.iter().filter(fits).collect();
        let action = &self.program.actions[rng.pick_any(&allowed)?.action as usize];
        let params = action.params.iter().map(|param| {
            let value = if rng.chance(60) {
                // Ports, indices and groups are small numbers.
                Value::new(param.width, u128::from(rng.below(6) as u64))
            } else {
                pool.value(rng, param.width, None)
            };
            pool.add_used(rng, &value);
            value
        });
        Some((action.identity.id, params.collect()))
    }

    fn default_action(&self, table: usize, pool: &mut ValuePool, rng: &mut Rng) -> Option<Request> {
        let ir = &self.program.tables[table];
        if rng.chance(15) {
            return Some(Request::ResetDefault { table: ir.identity.id });
        }
        let (action, params) = self.action(ir, false, pool, rng)?;
        Some(Request::SetDefault { table: ir.identity.id, action, params })
    }

    fn register(&self, pool: &mut ValuePool, rng: &mut Rng) -> Option<Request> {
        let register = rng.pick_any(&self.program.registers)?;
        let size = register.size as usize;
        let index = match rng.below(4) {
            0 if size <= 1 << 16 => None,
            1 => Some(rng.below(size) as u32),
            _ => Some(rng.below(size.min(8)) as u32),
        };
        let value = pool.value(rng, register.width, None);
        Some(Request::WriteRegister { register: register.identity.id, index, value })
    }

    fn meter(&self, rng: &mut Rng) -> Option<Request> {
        let arrays: Vec<_> = self.program.meters.iter().filter(|m| m.direct.is_none()).collect();
        let meter = rng.pick_any(&arrays)?;
        let index = if rng.chance(40) {
            None
        } else {
            Some(rng.below((meter.size as usize).min(8)) as u32)
        };
        let config = rng.chance(90).then(|| meter_config(rng));
        Some(Request::WriteMeter { meter: meter.identity.id, index, config })
    }

    fn profiles(&self, pool: &mut ValuePool, rng: &mut Rng, requests: &mut Vec<Request>) {
        for profile in &self.program.action_profiles {
            let id = profile.identity.id;
            let tables = &profile.tables;
            for member in 1..=5 {
                let Some(table) = rng.pick_any(tables) else { continue };
                let ir = &self.program.tables[*table as usize];
                let Some((action, params)) = self.action(ir, true, pool, rng) else { continue };
                requests.push(Request::InsertMember { profile: id, member, action, params });
            }
            if profile.selector.is_none() {
                continue;
            }
            for group in 1..=3 {
                let mut members: Vec<(u32, u32)> =
                    (1..=5).map(|member| (member, 1 + rng.below(3) as u32)).collect();
                members.retain(|_| rng.chance(50));
                requests.push(Request::InsertGroup { profile: id, group, members });
            }
        }
    }

    fn replication(&mut self, pool: &ValuePool, rng: &mut Rng, requests: &mut Vec<Request>) {
        let mut groups = vec![1, 2, 3];
        groups.extend(pool.small_constants(16, 1 << 16).iter().take(8).map(|id| *id as u32));
        groups.sort_unstable();
        groups.dedup();
        groups.retain(|id| *id > 0 && rng.chance(80));
        for group in &groups {
            requests.push(Request::InsertMulticast { group: *group, replicas: replicas(rng, 3) });
        }
        let mut sessions = vec![1, 2, 3];
        for block in traversal::blocks(self.program) {
            for op in &block.ops {
                if let Op::Clone { session: Expr::Const(id), .. } = op {
                    sessions.push(id.words[0] as u32);
                }
            }
        }
        sessions.sort_unstable();
        sessions.dedup();
        sessions.retain(|id| *id > 0 && rng.chance(80));
        for session in &sessions {
            requests.push(Request::InsertSession { session: *session, to: clone_session(rng) });
        }
        (self.groups, self.sessions) = (groups, sessions);
    }

    fn replication_change(&self, rng: &mut Rng) -> Option<Request> {
        if rng.chance(50) {
            let group = *rng.pick_any(&self.groups)?;
            Some(match rng.below(6) {
                0 => Request::DeleteMulticast { group },
                1 => Request::InsertMulticast { group, replicas: replicas(rng, 3) },
                _ => Request::ModifyMulticast { group, replicas: replicas(rng, 3) },
            })
        } else {
            let session = *rng.pick_any(&self.sessions)?;
            Some(match rng.below(6) {
                0 => Request::DeleteSession { session },
                1 => Request::InsertSession { session, to: clone_session(rng) },
                _ => Request::ModifySession { session, to: clone_session(rng) },
            })
        }
    }
}
