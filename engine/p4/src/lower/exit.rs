//! `exit`, and which arguments it writes back.
//!
//! The language says: those of every call that is open. p4c writes back at the end of what it
//! inlines, and looks for `exit` in one case only, the parameters of an action that a control or
//! a table calls. So it loses, and so do we:
//!
//! - the outputs of an action that another action calls;
//! - outputs that go by way of a temporary variable (`alias.rs`);
//! - the outputs of a control that is applied at several places with different arguments. One
//!   place only, or the same arguments at all of them, makes p4c work on the arguments themselves.

use netkv_ir::Terminator;

use super::instance::{BlockInstance, Object};
use super::{Lowerer, Site};
use crate::alias::{by_temporary, same};
use crate::exits;
use crate::hir::{Call, CallArg, Callee, HExpr, HKind, HLocal, HStmt, HStmtKind, Id};

/// For each argument of a call: does an `exit` in it write the argument back? None: nothing in it
/// can exit.
pub(super) type AtExit = Option<Vec<bool>>;

impl Lowerer<'_> {
    pub(super) fn exit(&mut self) {
        for frame in self.frames.clone().iter().rev() {
            for copy in frame.copy_outs.iter().filter(|copy| copy.at_exit) {
                self.copy_out(copy);
            }
        }
        self.end(Terminator::Exit);
    }

    /// For the arguments of an action that is called by its name.
    pub(super) fn action_at_exit(&self, action: usize, args: &[CallArg]) -> AtExit {
        exits::may_exit(self.hir, &self.hir.actions[action].body).then(|| match self.site {
            Site::Action => vec![false; args.len()],
            Site::Block(_) => by_temporary(args).into_iter().map(|by| !by).collect(),
        })
    }

    /// For the arguments of an action that a table calls.
    pub(super) fn table_at_exit(&self, action: usize) -> AtExit {
        let action = &self.hir.actions[action];
        exits::may_exit(self.hir, &action.body).then(|| vec![true; action.params.len()])
    }

    /// For the arguments of a control.
    pub(super) fn block_at_exit(&self, id: Id, instance: &BlockInstance, call: &Call) -> AtExit {
        if !self.block_may_exit(instance) {
            return None;
        }
        let temporary = by_temporary(&call.args);
        let mut calls = Vec::new();
        if let Site::Block(block) = self.site {
            applications(&self.hir.blocks[block].body, id, &mut calls);
        }
        let in_place = match calls.as_slice() {
            [_] => true,
            _ => !temporary.contains(&true) && calls.iter().all(|other| alike(call, other)),
        };
        Some(temporary.into_iter().map(|by| in_place && !by).collect())
    }

    fn block_may_exit(&self, instance: &BlockInstance) -> bool {
        let hir = self.hir;
        let block = &hir.blocks[instance.block];
        let action_exits = |action: usize| exits::may_exit(hir, &hir.actions[action].body);
        exits::may_exit(hir, &block.body)
            || block.locals.iter().any(|local| match local {
                HLocal::Action(action) => action_exits(*action),
                HLocal::Table(table) => {
                    hir.tables[*table].actions.iter().any(|entry| action_exits(entry.action))
                }
                _ => false,
            })
            || instance.objects.iter().any(|(_, object)| match object {
                Object::Block(inner) => self.block_may_exit(inner),
                _ => false,
            })
    }
}

/// The calls of an instance in the body of a control.
fn applications<'h>(body: &'h [HStmt], id: Id, found: &mut Vec<&'h Call>) {
    for stmt in body {
        match &stmt.kind {
            HStmtKind::Call(HExpr { kind: HKind::Call(call), .. }) => {
                if matches!(call.callee, Callee::Instance(of) if of == id) {
                    found.push(call);
                }
            }
            HStmtKind::If(_, then, otherwise) => {
                applications(then, id, found);
                applications(otherwise, id, found);
            }
            HStmtKind::Block(body) => applications(body, id, found),
            HStmtKind::SwitchValue(_, cases) => {
                cases.iter().for_each(|(_, body)| applications(body, id, found));
            }
            HStmtKind::SwitchTable(_, cases) => {
                cases.iter().for_each(|(_, body)| applications(body, id, found));
            }
            _ => {}
        }
    }
}

fn alike(a: &Call, b: &Call) -> bool {
    a.args.iter().zip(&b.args).all(|(a, b)| match (&a.expr, &b.expr) {
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    })
}
