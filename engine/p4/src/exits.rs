//! Assignments of an action to its own parameters that p4c removes although an `exit` reaches them.
//!
//! The language says that `exit` writes `out` and `inout` parameters back. p4c looks for dead
//! assignments in each action before it inlines anything, and takes `exit` for a statement that
//! does nothing: what is assigned before an `exit`, and assigned anew on every way that goes on
//! without it, is never assigned. What nothing assigns anew is written back as it should be. An
//! action that is called counts the same: it may exit, but p4c takes it to come back. Programs have
//! to behave alike on every target, so it is done here too.

use std::collections::HashSet;

use crate::ast::Dir;
use crate::effects::calls;
use crate::hir::{Call, Callee, HAction, HExpr, HKind, HStmt, HStmtKind, Hir, Id};
use crate::parts::{Part, Parts};

/// Tells statements of one body apart (a span does not: macros repeat it).
pub(crate) type StmtKey = usize;

pub(crate) fn key(stmt: &HStmt) -> StmtKey {
    std::ptr::from_ref(stmt).addr()
}

/// Can these statements, or an action that they call, exit? Tables and blocks are not looked into.
pub(crate) fn may_exit(hir: &Hir, body: &[HStmt]) -> bool {
    stmts_exit(hir, body, &mut HashSet::new())
}

fn stmts_exit(hir: &Hir, body: &[HStmt], seen: &mut HashSet<usize>) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        HStmtKind::Exit => true,
        HStmtKind::Call(HExpr { kind: HKind::Call(call), .. }) => match call.callee {
            Callee::Action(id) => seen.insert(id) && stmts_exit(hir, &hir.actions[id].body, seen),
            _ => false,
        },
        HStmtKind::If(_, then, otherwise) => {
            stmts_exit(hir, then, seen) || stmts_exit(hir, otherwise, seen)
        }
        HStmtKind::Block(body) => stmts_exit(hir, body, seen),
        HStmtKind::SwitchValue(_, cases) => {
            cases.iter().any(|(_, body)| stmts_exit(hir, body, seen))
        }
        HStmtKind::SwitchTable(_, cases) => {
            cases.iter().any(|(_, body)| stmts_exit(hir, body, seen))
        }
        _ => false,
    })
}

/// The assignments in the body of an action that have no effect.
pub(crate) fn dead_assignments(hir: &Hir, action: &HAction) -> HashSet<StmtKey> {
    let outs = action.params.iter().filter(|p| matches!(p.dir, Dir::Out | Dir::InOut));
    let outs: HashSet<Id> = outs.map(|p| p.id).collect();
    if outs.is_empty() || !may_exit(hir, &action.body) {
        return HashSet::new();
    }
    let Some(parts) = Parts::of_action(&hir.types, action) else { return HashSet::new() };
    let mut end = Live(vec![Need::Nothing; parts.count()]);
    for param in &action.params {
        if let (true, Some(part)) = (outs.contains(&param.id), parts.of_var(param.id)) {
            end.read(&part);
        }
    }
    let mut walk = Walk { parts, outs, end: end.clone(), dead: HashSet::new() };
    walk.stmts(&action.body, end);
    walk.dead
}

/// Who reads a part of a variable further on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Need {
    Nothing,
    Read,
    /// Only assignments of a slice, for the bits that they leave alone; high and low of the bits
    /// that all of them overwrite.
    Outside(u32, u32),
}

impl Need {
    fn or(self, other: Need) -> Need {
        match (self, other) {
            (Need::Nothing, need) | (need, Need::Nothing) => need,
            (Need::Outside(a, b), Need::Outside(c, d)) if b.max(d) <= a.min(c) => {
                Need::Outside(a.min(c), b.max(d))
            }
            _ => Need::Read,
        }
    }
}

/// What is needed of each part.
#[derive(Debug, Clone)]
struct Live(Vec<Need>);

impl Live {
    fn read(&mut self, part: &Part) {
        self.0[part.range()].fill(Need::Read);
    }

    fn validity(&mut self, part: &Part) {
        if let Some(valid) = part.valid {
            self.0[valid] = Need::Read;
        }
    }

    fn join(mut self, other: &Live) -> Live {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.or(*other);
        }
        self
    }

    /// Writes a part: what was in it before matters no more. False when the value is not needed.
    fn write(&mut self, part: &Part) -> bool {
        let needed = self.0[part.range()].iter().any(|need| match (*need, part.bits) {
            (Need::Nothing, _) => false,
            (Need::Outside(high, low), Some((h, l))) => h > high || l < low,
            _ => true,
        });
        if needed && !part.exact {
            self.read(part);
        } else if needed {
            let before = part.bits.map_or(Need::Nothing, |(high, low)| Need::Outside(high, low));
            self.0[part.range()].fill(before);
        }
        needed
    }
}

struct Walk<'a> {
    parts: Parts<'a>,
    outs: HashSet<Id>,
    /// What is needed where the action ends.
    end: Live,
    dead: HashSet<StmtKey>,
}

/// Does what follows in the same block never run?
fn jumps(stmt: &HStmt) -> bool {
    match &stmt.kind {
        HStmtKind::Exit | HStmtKind::Return(_) => true,
        HStmtKind::If(cond, then, otherwise) => match known(cond) {
            Some(true) => then.iter().any(jumps),
            Some(false) => otherwise.iter().any(jumps),
            None => then.iter().any(jumps) && otherwise.iter().any(jumps),
        },
        HStmtKind::Block(body) => body.iter().any(jumps),
        _ => false,
    }
}

fn known(cond: &HExpr) -> Option<bool> {
    cond.as_const().map(|value| *value != num_bigint::BigInt::ZERO)
}

impl Walk<'_> {
    /// What is needed before some statements, from what is needed behind.
    fn stmts(&mut self, body: &[HStmt], mut live: Live) -> Live {
        let reached = body.iter().position(jumps).map_or(body.len(), |at| at + 1);
        for stmt in body[..reached].iter().rev() {
            live = self.stmt(stmt, live);
        }
        live
    }

    fn stmt(&mut self, stmt: &HStmt, mut live: Live) -> Live {
        match &stmt.kind {
            HStmtKind::Exit => live,
            HStmtKind::Return(_) => live.join(&self.end),
            HStmtKind::Assign(to, value) => self.assign(key(stmt), to, false, value, live),
            HStmtKind::Update(to, _, value) => self.assign(key(stmt), to, true, value, live),
            HStmtKind::Decl(var) => {
                let needed = self.parts.of_var(var.id).is_none_or(|part| live.write(&part));
                if let Some(init) = var.init.as_ref().filter(|init| needed || calls(init)) {
                    live = self.value(init, live);
                }
                live
            }
            HStmtKind::Call(call) => self.value(call, live),
            HStmtKind::If(cond, then, otherwise) => {
                live = match known(cond) {
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
                let behind = live.clone();
                for (_, body) in cases {
                    live = live.join(&self.stmts(body, behind.clone()));
                }
                self.value(value, live)
            }
            HStmtKind::SwitchTable(..) => live.join(&self.end),
            HStmtKind::Block(body) => self.stmts(body, live),
        }
    }

    fn assign(
        &mut self,
        key: StmtKey,
        to: &HExpr,
        update: bool,
        value: &HExpr,
        mut live: Live,
    ) -> Live {
        if let Some(part) = self.parts.find(to) {
            if live.write(&part) {
                live.validity(&part);
                if update {
                    live.read(&part);
                }
            } else {
                if self.outs.contains(&part.root) {
                    self.dead.insert(key);
                }
                if !calls(value) && !calls(to) {
                    return live;
                }
            }
        }
        // An index that calls something is evaluated before the value, another one behind it.
        let index_first = calls(to);
        if !index_first {
            live = self.indices(to, live);
        }
        live = self.value(value, live);
        if index_first { self.indices(to, live) } else { live }
    }

    /// What is needed before the indices in the name of a place are evaluated.
    fn indices(&mut self, place: &HExpr, mut live: Live) -> Live {
        match &place.kind {
            HKind::Element(base, index) => {
                live = self.value(index, live);
                self.indices(base, live)
            }
            HKind::Field(base, _) | HKind::Slice(base, ..) => self.indices(base, live),
            HKind::Next(base) | HKind::Last(base) => self.indices(base, live),
            _ => live,
        }
    }

    /// What is needed before an expression is evaluated.
    fn value(&mut self, expr: &HExpr, mut live: Live) -> Live {
        if let Some(part) = self.parts.find(expr) {
            live.read(&part);
            return self.indices(expr, live);
        }
        match &expr.kind {
            HKind::IsValid(header) => match self.parts.find(header) {
                Some(part) => {
                    live.validity(&part);
                    self.indices(header, live)
                }
                None => self.value(header, live),
            },
            HKind::Mux(cond, then, otherwise) => {
                let other = self.value(otherwise, live.clone());
                live = self.value(then, live).join(&other);
                self.value(cond, live)
            }
            HKind::Binary(crate::hir::BinOp::Both | crate::hir::BinOp::Either, left, right) => {
                live = self.value(right, live.clone()).join(&live);
                self.value(left, live)
            }
            HKind::Hit(..) => live.join(&self.end),
            HKind::Call(call) => self.call(call, live),
            other => {
                other.parts().into_iter().rev().fold(live, |live, part| self.value(part, live))
            }
        }
    }

    fn call(&mut self, call: &Call, mut live: Live) -> Live {
        match &call.callee {
            Callee::SetValid(header, _) => {
                if let Some(part) = self.parts.find(header) {
                    match part.valid {
                        Some(valid) if part.exact => live.0[valid] = Need::Nothing,
                        _ => live.read(&part),
                    }
                }
                return self.indices(header, live);
            }
            Callee::Push(stack, ..) => {
                if let Some(part) = self.parts.find(stack) {
                    live.read(&part);
                }
            }
            _ => {}
        }
        let written = |dir: Dir| matches!(dir, Dir::Out | Dir::InOut);
        for arg in call.args.iter().rev() {
            if let (true, Some(expr)) = (written(arg.dir), &arg.expr)
                && let Some(part) = self.parts.find(expr)
            {
                live.write(&part);
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
