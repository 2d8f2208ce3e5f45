//! Lowers `exit`, and decides which arguments an `exit` copies out.
//!
//! The specification demands the copy-out of every active call. p4c copies out at the end of an
//! inlined body, which an `exit` skips. It handles `exit` for one case only: the parameters of an
//! action that a control or a table calls. netkv must behave like p4c on every target, so an
//! `exit` loses here, too:
//!
//! - the outputs of an action that another action calls;
//! - outputs that are passed through a temporary variable (`argument_temporaries.rs`);
//! - the outputs of a control that is applied at several places with different arguments. If
//!   there is only one place, or the arguments are equal everywhere, p4c binds them in place.

use netkv_ir::Terminator;

use super::inlined_call::Caller;
use super::lowerer::Lowerer;
use super::objects::{BlockInstance, Object};
use crate::argument_temporaries::{passed_by_temporary, same_syntax};
use crate::dead_parameter_stores;
use crate::hir::{Call, CallArg, Callee, DeclId, HExpr, HExprKind, HLocal, HStmt, HStmtKind};

/// For each argument of a call: true if an `exit` in the callee copies the argument out. `None`:
/// the callee cannot exit.
pub(super) type CopyOutAtExit = Option<Vec<bool>>;

impl Lowerer<'_> {
    pub(super) fn lower_exit(&mut self) {
        for frame in self.inlined_calls.clone().iter().rev() {
            for copy in frame.copy_outs.iter().filter(|copy| copy.at_exit) {
                self.copy_out(copy);
            }
        }
        self.end_block(Terminator::Exit);
    }

    /// Copy-out at exit for an action that a statement calls.
    pub(super) fn action_at_exit(&self, action: usize, args: &[CallArg]) -> CopyOutAtExit {
        dead_parameter_stores::may_exit(self.hir, &self.hir.actions[action].body).then(
            || match self.caller {
                Caller::Action => vec![false; args.len()],
                Caller::Block(_) => passed_by_temporary(args).into_iter().map(|by| !by).collect(),
            },
        )
    }

    /// Copy-out at exit for an action that a table calls.
    pub(super) fn table_at_exit(&self, action: usize) -> CopyOutAtExit {
        let action = &self.hir.actions[action];
        dead_parameter_stores::may_exit(self.hir, &action.body)
            .then(|| vec![true; action.params.len()])
    }

    /// Copy-out at exit for a control that is applied.
    pub(super) fn block_at_exit(
        &self,
        id: DeclId,
        instance: &BlockInstance,
        call: &Call,
    ) -> CopyOutAtExit {
        if !self.block_may_exit(instance) {
            return None;
        }
        let temporary = passed_by_temporary(&call.args);
        let mut calls = Vec::new();
        if let Caller::Block(block) = self.caller {
            collect_applications(&self.hir.blocks[block].body, id, &mut calls);
        }
        let in_place = match calls.as_slice() {
            [_] => true,
            _ => !temporary.contains(&true) && calls.iter().all(|other| same_args(call, other)),
        };
        Some(temporary.into_iter().map(|by| in_place && !by).collect())
    }

    fn block_may_exit(&self, instance: &BlockInstance) -> bool {
        let hir = self.hir;
        let block = &hir.blocks[instance.block];
        let action_exits =
            |action: usize| dead_parameter_stores::may_exit(hir, &hir.actions[action].body);
        dead_parameter_stores::may_exit(hir, &block.body)
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

/// Collects the calls of an instance in the body of a control.
fn collect_applications<'h>(body: &'h [HStmt], id: DeclId, found: &mut Vec<&'h Call>) {
    for stmt in body {
        match &stmt.kind {
            HStmtKind::Call(HExpr { kind: HExprKind::Call(call), .. }) => {
                if matches!(call.callee, Callee::Instance(of) if of == id) {
                    found.push(call);
                }
            }
            HStmtKind::If(_, then, otherwise) => {
                collect_applications(then, id, found);
                collect_applications(otherwise, id, found);
            }
            HStmtKind::Block(body) => collect_applications(body, id, found),
            HStmtKind::Loop(_, body, update) => {
                collect_applications(body, id, found);
                collect_applications(update, id, found);
            }
            HStmtKind::ForEach(_, body) => collect_applications(body, id, found),
            HStmtKind::SwitchValue(_, cases) => {
                cases.iter().for_each(|(_, body)| collect_applications(body, id, found));
            }
            HStmtKind::SwitchTable(_, cases) => {
                cases.iter().for_each(|(_, body)| collect_applications(body, id, found));
            }
            _ => {}
        }
    }
}

fn same_args(a: &Call, b: &Call) -> bool {
    a.args.iter().zip(&b.args).all(|(a, b)| match (&a.expr, &b.expr) {
        (Some(a), Some(b)) => same_syntax(a, b),
        _ => false,
    })
}
