//! Finds the assignments to parameters of an action that p4c removes although `exit` needs them.
//!
//! The specification demands that `exit` copies `out` and `inout` parameters out. p4c eliminates
//! dead assignments in each action before it inlines calls, and ignores that `exit` leaves the
//! action. It removes an assignment before an `exit` if every path that continues without the
//! `exit` assigns the parameter again. The same holds for a call of an action that may exit: p4c
//! assumes that it returns. Programs must behave alike on every target, so netkv removes the same
//! assignments.
//!
//! The analysis is a backward liveness analysis over [`StorageLocations`].

use std::collections::HashSet;

use crate::ast::Dir;
use crate::hir::{Call, Callee, DeclId, HAction, HExpr, HExprKind, HStmt, HStmtKind, Hir};
use crate::side_effects::contains_call;
use crate::storage_locations::{LocationSet, StorageLocations};

/// Identifies a statement in its body. A span cannot, because statements of one macro share it.
pub(crate) type StmtId = usize;

pub(crate) fn stmt_id(stmt: &HStmt) -> StmtId {
    std::ptr::from_ref(stmt).addr()
}

/// True if these statements, or an action that they call, may exit. Tables and blocks that they
/// apply are not considered.
pub(crate) fn may_exit(hir: &Hir, body: &[HStmt]) -> bool {
    any_exits(hir, body, &mut HashSet::new())
}

fn any_exits(hir: &Hir, body: &[HStmt], seen: &mut HashSet<usize>) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        HStmtKind::Exit => true,
        HStmtKind::Call(HExpr { kind: HExprKind::Call(call), .. }) => match call.callee {
            Callee::Action(id) => seen.insert(id) && any_exits(hir, &hir.actions[id].body, seen),
            _ => false,
        },
        HStmtKind::If(_, then, otherwise) => {
            any_exits(hir, then, seen) || any_exits(hir, otherwise, seen)
        }
        HStmtKind::Block(body) => any_exits(hir, body, seen),
        HStmtKind::SwitchValue(_, cases) => {
            cases.iter().any(|(_, body)| any_exits(hir, body, seen))
        }
        HStmtKind::SwitchTable(_, cases) => {
            cases.iter().any(|(_, body)| any_exits(hir, body, seen))
        }
        _ => false,
    })
}

/// The assignments to parameters of an action that p4c removes.
pub(crate) fn find_dead_parameter_stores(hir: &Hir, action: &HAction) -> HashSet<StmtId> {
    let outs = action.params.iter().filter(|p| matches!(p.dir, Dir::Out | Dir::InOut));
    let outs: HashSet<DeclId> = outs.map(|p| p.id).collect();
    if outs.is_empty() || !may_exit(hir, &action.body) {
        return HashSet::new();
    }
    let Some(locations) = StorageLocations::of_action(&hir.types, action) else {
        return HashSet::new();
    };
    let mut end = LiveLocations(vec![Use::Unused; locations.count()]);
    for param in &action.params {
        if let (true, Some(set)) = (outs.contains(&param.id), locations.of_var(param.id)) {
            end.read(&set);
        }
    }
    let mut analysis = LivenessAnalysis { locations, outs, end: end.clone(), dead: HashSet::new() };
    analysis.stmts(&action.body, end);
    analysis.dead
}

/// How the rest of the action uses the current value of a location.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Use {
    Unused,
    Read,
    /// Only assignments to slices, which keep the other bits. All of them overwrite the bits from
    /// the first number down to the second.
    ReadOutside(u32, u32),
}

impl Use {
    fn or(self, other: Use) -> Use {
        match (self, other) {
            (Use::Unused, used) | (used, Use::Unused) => used,
            (Use::ReadOutside(a, b), Use::ReadOutside(c, d)) if b.max(d) <= a.min(c) => {
                Use::ReadOutside(a.min(c), b.max(d))
            }
            _ => Use::Read,
        }
    }
}

/// The use of each location.
#[derive(Debug, Clone)]
struct LiveLocations(Vec<Use>);

impl LiveLocations {
    fn read(&mut self, set: &LocationSet) {
        self.0[set.range()].fill(Use::Read);
    }

    fn validity(&mut self, set: &LocationSet) {
        if let Some(valid) = set.valid {
            self.0[valid] = Use::Read;
        }
    }

    fn join(mut self, other: &LiveLocations) -> LiveLocations {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.or(*other);
        }
        self
    }

    /// Records a write: the old value becomes unused. Returns false if the new value is unused.
    fn write(&mut self, set: &LocationSet) -> bool {
        let needed = self.0[set.range()].iter().any(|used| match (*used, set.bits) {
            (Use::Unused, _) => false,
            (Use::ReadOutside(high, low), Some((h, l))) => h > high || l < low,
            _ => true,
        });
        if needed && !set.exact {
            self.read(set);
        } else if needed {
            let before = set.bits.map_or(Use::Unused, |(high, low)| Use::ReadOutside(high, low));
            self.0[set.range()].fill(before);
        }
        needed
    }
}

struct LivenessAnalysis<'a> {
    locations: StorageLocations<'a>,
    outs: HashSet<DeclId>,
    /// Uses at the end of the action.
    end: LiveLocations,
    dead: HashSet<StmtId>,
}

/// True if the statements after this one, in the same block, never run.
fn always_leaves(stmt: &HStmt) -> bool {
    match &stmt.kind {
        HStmtKind::Exit | HStmtKind::Return(_) => true,
        HStmtKind::If(cond, then, otherwise) => match constant_condition(cond) {
            Some(true) => then.iter().any(always_leaves),
            Some(false) => otherwise.iter().any(always_leaves),
            None => then.iter().any(always_leaves) && otherwise.iter().any(always_leaves),
        },
        HStmtKind::Block(body) => body.iter().any(always_leaves),
        _ => false,
    }
}

fn constant_condition(cond: &HExpr) -> Option<bool> {
    cond.as_const().map(|value| *value != num_bigint::BigInt::ZERO)
}

impl LivenessAnalysis<'_> {
    /// Uses before some statements, given those after them.
    fn stmts(&mut self, body: &[HStmt], mut live: LiveLocations) -> LiveLocations {
        let reached = body.iter().position(always_leaves).map_or(body.len(), |at| at + 1);
        for stmt in body[..reached].iter().rev() {
            live = self.stmt(stmt, live);
        }
        live
    }

    fn stmt(&mut self, stmt: &HStmt, mut live: LiveLocations) -> LiveLocations {
        match &stmt.kind {
            HStmtKind::Exit => live,
            HStmtKind::Return(_) => live.join(&self.end),
            HStmtKind::Assign(to, value) => self.assign(stmt_id(stmt), to, false, value, live),
            HStmtKind::CompoundAssign(to, _, value) => {
                self.assign(stmt_id(stmt), to, true, value, live)
            }
            HStmtKind::Decl(var) => {
                let needed = self.locations.of_var(var.id).is_none_or(|set| live.write(&set));
                if let Some(init) = var.init.as_ref().filter(|init| needed || contains_call(init)) {
                    live = self.value(init, live);
                }
                live
            }
            HStmtKind::Call(call) => self.value(call, live),
            HStmtKind::If(cond, then, otherwise) => {
                live = match constant_condition(cond) {
                    Some(true) => return self.stmts(then, live),
                    Some(false) => return self.stmts(otherwise, live),
                    None => {
                        let other = self.stmts(otherwise, live.clone());
                        self.stmts(then, live).join(&other)
                    }
                };
                self.value(cond, live)
            }
            HStmtKind::SwitchValue(value, cases) => {
                let after = live.clone();
                for (_, body) in cases {
                    live = live.join(&self.stmts(body, after.clone()));
                }
                self.value(value, live)
            }
            HStmtKind::SwitchTable(..) => live.join(&self.end),
            HStmtKind::Block(body) => self.stmts(body, live),
            // Another run of the body may read everything.
            HStmtKind::Loop(_, body, update) | HStmtKind::ForEach(update, body) => {
                live.0.fill(Use::Read);
                self.stmts(update, live.clone());
                live = self.stmts(body, live);
                live.0.fill(Use::Read);
                live
            }
            HStmtKind::Break | HStmtKind::Continue => {
                live.0.fill(Use::Read);
                live
            }
        }
    }

    fn assign(
        &mut self,
        key: StmtId,
        to: &HExpr,
        update: bool,
        value: &HExpr,
        mut live: LiveLocations,
    ) -> LiveLocations {
        if let Some(set) = self.locations.of_expr(to) {
            if live.write(&set) {
                live.validity(&set);
                if update {
                    live.read(&set);
                }
            } else {
                if self.outs.contains(&set.root) {
                    self.dead.insert(key);
                }
                if !contains_call(value) && !contains_call(to) {
                    return live;
                }
            }
        }
        // An index with a call is evaluated before the value, any other index after it.
        let index_first = contains_call(to);
        if !index_first {
            live = self.indices(to, live);
        }
        live = self.value(value, live);
        if index_first { self.indices(to, live) } else { live }
    }

    /// Uses before the stack indices in an l-value are evaluated.
    fn indices(&mut self, place: &HExpr, mut live: LiveLocations) -> LiveLocations {
        match &place.kind {
            HExprKind::Element(base, index) => {
                live = self.value(index, live);
                self.indices(base, live)
            }
            HExprKind::Field(base, _) | HExprKind::Slice(base, ..) => self.indices(base, live),
            HExprKind::Next(base) | HExprKind::Last(base) => self.indices(base, live),
            _ => live,
        }
    }

    /// Uses before an expression is evaluated.
    fn value(&mut self, expr: &HExpr, mut live: LiveLocations) -> LiveLocations {
        if let Some(set) = self.locations.of_expr(expr) {
            live.read(&set);
            return self.indices(expr, live);
        }
        match &expr.kind {
            HExprKind::IsValid(header) => match self.locations.of_expr(header) {
                Some(set) => {
                    live.validity(&set);
                    self.indices(header, live)
                }
                None => self.value(header, live),
            },
            HExprKind::Mux(cond, then, otherwise) => {
                let other = self.value(otherwise, live.clone());
                live = self.value(then, live).join(&other);
                self.value(cond, live)
            }
            HExprKind::Binary(
                crate::hir::BinOp::LogicalAnd | crate::hir::BinOp::LogicalOr,
                left,
                right,
            ) => {
                live = self.value(right, live.clone()).join(&live);
                self.value(left, live)
            }
            HExprKind::Hit(..) => live.join(&self.end),
            HExprKind::Call(call) => self.call(call, live),
            other => {
                other.operands().into_iter().rev().fold(live, |live, set| self.value(set, live))
            }
        }
    }

    fn call(&mut self, call: &Call, mut live: LiveLocations) -> LiveLocations {
        match &call.callee {
            Callee::SetValid(header, _) => {
                if let Some(set) = self.locations.of_expr(header) {
                    match set.valid {
                        Some(valid) if set.exact => live.0[valid] = Use::Unused,
                        _ => live.read(&set),
                    }
                }
                return self.indices(header, live);
            }
            Callee::Push(stack, ..) => {
                if let Some(set) = self.locations.of_expr(stack) {
                    live.read(&set);
                }
            }
            _ => {}
        }
        let written = |dir: Dir| matches!(dir, Dir::Out | Dir::InOut);
        for arg in call.args.iter().rev() {
            if let (true, Some(expr)) = (written(arg.dir), &arg.expr)
                && let Some(set) = self.locations.of_expr(expr)
            {
                live.write(&set);
            }
        }
        for arg in call.args.iter().rev() {
            if let Some(expr) = &arg.expr {
                live = match arg.dir {
                    Dir::Out => self.indices(expr, live),
                    _ => self.value(expr, live),
                };
            }
        }
        live
    }
}
