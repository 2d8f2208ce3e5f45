//! Assignments of an action to its own parameters that only an `exit` could carry out.
//!
//! The language says that `exit` copies `out` parameters back. p4c removes assignments that it
//! holds for dead before it gets there, and for the parameters of an action it does not count
//! `exit` as a use: what was assigned last before the `exit`, and would be assigned anew without
//! it, is not seen outside. Programs have to behave alike on every target, so it is done here too.

use std::collections::HashSet;

use crate::ast::Dir;
use crate::hir::{HAction, HExpr, HKind, HStmt, HStmtKind, Hir, Id};

/// Tells statements of one body apart (a span does not: macros repeat it).
pub(crate) type StmtKey = usize;

pub(crate) fn key(stmt: &HStmt) -> StmtKey {
    std::ptr::from_ref(stmt).addr()
}

/// The assignments in the body of an action that have no effect.
pub(crate) fn dead_assignments(hir: &Hir, action: &HAction) -> HashSet<StmtKey> {
    let outs: HashSet<Id> = action
        .params
        .iter()
        .filter(|p| matches!(p.dir, Dir::Out | Dir::InOut) && hir.types.width(&p.ty).is_some())
        .map(|p| p.id)
        .collect();
    let mut walk = Walk { outs, dead: HashSet::new() };
    if !walk.outs.is_empty() && action.body.iter().any(has_exit) {
        let end = walk.outs.clone();
        walk.stmts(&action.body, end);
    }
    walk.dead
}

fn has_exit(stmt: &HStmt) -> bool {
    match &stmt.kind {
        HStmtKind::Exit => true,
        HStmtKind::If(_, then, otherwise) => {
            then.iter().any(has_exit) || otherwise.iter().any(has_exit)
        }
        HStmtKind::Block(body) => body.iter().any(has_exit),
        HStmtKind::SwitchValue(_, cases) => cases.iter().any(|(_, body)| body.iter().any(has_exit)),
        _ => false,
    }
}

struct Walk {
    outs: HashSet<Id>,
    dead: HashSet<StmtKey>,
}

impl Walk {
    /// Parameters that matter before some statements, from those that matter behind.
    fn stmts(&mut self, body: &[HStmt], mut live: HashSet<Id>) -> HashSet<Id> {
        for stmt in body.iter().rev() {
            live = self.stmt(stmt, live);
        }
        live
    }

    fn stmt(&mut self, stmt: &HStmt, mut live: HashSet<Id>) -> HashSet<Id> {
        match &stmt.kind {
            HStmtKind::Exit => return HashSet::new(),
            HStmtKind::Return(_) => return self.outs.clone(),
            HStmtKind::Assign(to, value) => {
                match to.kind {
                    HKind::Var(id) if self.outs.contains(&id) => {
                        if !live.remove(&id) && !acts(value) {
                            self.dead.insert(key(stmt));
                            return live;
                        }
                    }
                    _ => self.uses(to, &mut live),
                }
                self.uses(value, &mut live);
            }
            HStmtKind::Decl(var) => {
                if let Some(init) = &var.init {
                    self.uses(init, &mut live);
                }
            }
            HStmtKind::Call(call) => self.uses(call, &mut live),
            HStmtKind::If(cond, then, otherwise) => {
                let other = self.stmts(otherwise, live.clone());
                live = self.stmts(then, live);
                live.extend(other);
                self.uses(cond, &mut live);
            }
            HStmtKind::SwitchValue(value, cases) => {
                let behind = live.clone();
                for (_, body) in cases {
                    live.extend(self.stmts(body, behind.clone()));
                }
                self.uses(value, &mut live);
            }
            HStmtKind::SwitchTable(..) => live = self.outs.clone(),
            HStmtKind::Block(body) => live = self.stmts(body, live),
        }
        live
    }

    fn uses(&self, expr: &HExpr, live: &mut HashSet<Id>) {
        match &expr.kind {
            HKind::Var(id) => {
                if self.outs.contains(id) {
                    live.insert(*id);
                }
            }
            HKind::Const(_) | HKind::Str(_) | HKind::Invalid | HKind::Wrong => {}
            // A call can use anything.
            HKind::Call(_) | HKind::Hit(..) => live.extend(&self.outs),
            HKind::Field(e, _) | HKind::Slice(e, ..) | HKind::Unary(_, e) | HKind::Cast(e) => {
                self.uses(e, live);
            }
            HKind::IsValid(e) | HKind::Next(e) | HKind::Last(e) | HKind::LastIndex(e) => {
                self.uses(e, live);
            }
            HKind::Element(a, b) | HKind::Binary(_, a, b) => {
                self.uses(a, live);
                self.uses(b, live);
            }
            HKind::Mux(a, b, c) => {
                self.uses(a, live);
                self.uses(b, live);
                self.uses(c, live);
            }
            HKind::Aggregate(parts) => parts.iter().for_each(|part| self.uses(part, live)),
        }
    }
}

/// Does evaluating it do more than give a value?
fn acts(expr: &HExpr) -> bool {
    match &expr.kind {
        HKind::Call(_) | HKind::Hit(..) => true,
        HKind::Const(_) | HKind::Str(_) | HKind::Invalid | HKind::Wrong | HKind::Var(_) => false,
        HKind::Field(e, _) | HKind::Slice(e, ..) | HKind::Unary(_, e) | HKind::Cast(e) => acts(e),
        HKind::IsValid(e) | HKind::Next(e) | HKind::Last(e) | HKind::LastIndex(e) => acts(e),
        HKind::Element(a, b) | HKind::Binary(_, a, b) => acts(a) || acts(b),
        HKind::Mux(a, b, c) => acts(a) || acts(b) || acts(c),
        HKind::Aggregate(parts) => parts.iter().any(acts),
    }
}
