//! Lowers statements.

use netkv_ir::{Expr, Pattern, SelectCase, Terminator};

use super::inlined_call::Caller;
use super::lowerer::Lowerer;
use super::storage::join;
use super::values::{LValue, RValue};
use crate::dead_parameter_stores;
use crate::hir::{Callee, HExpr, HStmt, HStmtKind, HVar};
use crate::side_effects::contains_call;

impl Lowerer<'_> {
    pub(super) fn lower_stmts(&mut self, body: &[HStmt]) {
        for stmt in body {
            if self.too_large() {
                return;
            }
            self.span = stmt.span;
            self.lower_stmt(stmt);
        }
    }

    /// Allocates a variable and initializes it.
    pub(super) fn declare(&mut self, var: &HVar) {
        self.span = var.span;
        let value = var.init.as_ref().map(|init| self.lower_expr(init));
        let name = join(&self.path, &var.name);
        let storage = self.allocate(&var.ty, &name);
        let place = LValue::Storage(storage.clone());
        match value {
            Some(value) => self.assign(&place, &value, &var.ty),
            None => self.zero(&storage),
        }
        self.env.insert(var.id, RValue::Stored(place));
    }

    fn lower_stmt(&mut self, stmt: &HStmt) {
        match &stmt.kind {
            HStmtKind::Decl(var) => self.declare(var),
            HStmtKind::Assign(to, value) | HStmtKind::CompoundAssign(to, _, value)
                if self.dead_stores.contains(&dead_parameter_stores::stmt_id(stmt)) =>
            {
                for expr in [to, value].into_iter().filter(|expr| contains_call(expr)) {
                    self.lower_expr(expr);
                }
            }
            HStmtKind::Assign(to, value) => {
                let Some(mut place) = self.lower_assignment_target(to) else { return };
                let lowered = self.lower_expr(value);
                if self.hir.types.width(&to.ty).is_none() {
                    // The value is written in parts. None of them may change the index.
                    place = self.snapshot_lvalue_index(place);
                }
                self.assign(&place, &lowered, &to.ty);
            }
            HStmtKind::CompoundAssign(to, op, value) => {
                let Some(place) = self.lower_assignment_target(to) else { return };
                let right = self.lower_right_operand(*op, value);
                let old = self.load_lvalue(&place);
                let signed = self.hir.types.is_signed(&to.ty);
                let result = self.operation(*op, signed, old, right, value.span);
                self.store_scalar(&place, result);
            }
            HStmtKind::Call(call) => drop(self.lower_expr(call)),
            HStmtKind::If(cond, then, otherwise) => {
                let cond = self.lower_scalar(cond);
                let (yes, done) = (self.graph.new_block(""), self.graph.new_block(""));
                let no = if otherwise.is_empty() { done } else { self.graph.new_block("") };
                self.end_block(Terminator::Branch { cond, then: yes, otherwise: no });
                self.graph.enter(yes);
                self.lower_stmts(then);
                self.jump(done);
                if !otherwise.is_empty() {
                    self.graph.enter(no);
                    self.lower_stmts(otherwise);
                    self.jump(done);
                }
                self.graph.enter(done);
            }
            HStmtKind::SwitchTable(call, cases) => {
                let Callee::Table(table) = call.callee else { return };
                let done = self.graph.new_block("");
                let blocks: Vec<_> = cases.iter().map(|_| self.graph.new_block("")).collect();
                let case_of = |wanted: Option<usize>| {
                    cases.iter().position(|(labels, _)| labels.contains(&wanted))
                };
                let default = case_of(None).map_or(done, |i| blocks[i]);
                let case_block =
                    |action: usize| case_of(Some(action)).map_or(default, |i| blocks[i]);
                self.lower_table_apply(table, Some(&case_block));
                for ((_, body), block) in cases.iter().zip(&blocks) {
                    self.graph.enter(*block);
                    self.lower_stmts(body);
                    self.jump(done);
                }
                self.graph.enter(done);
            }
            HStmtKind::SwitchValue(value, cases) => {
                if matches!(self.caller, Caller::Action) {
                    self.reporter.error(
                        stmt.span,
                        "v1model has no 'switch' in an action; 'if' ... 'else' does it.",
                    );
                }
                self.lower_switch_value(value, cases);
            }
            HStmtKind::Block(body) => self.lower_stmts(body),
            HStmtKind::Loop(cond, body, update) => {
                let (head, next) = (self.graph.new_block(""), self.graph.new_block(""));
                let (run, done) = (self.graph.new_block(""), self.graph.new_block(""));
                self.jump(head);
                self.graph.enter(head);
                let cond = self.lower_scalar(cond);
                self.end_block(Terminator::Branch { cond, then: run, otherwise: done });
                self.loops.push((done, next));
                self.graph.enter(run);
                self.lower_stmts(body);
                self.jump(next);
                self.graph.enter(next);
                self.lower_stmts(update);
                self.jump(head);
                self.loops.pop();
                self.graph.enter(done);
            }
            HStmtKind::ForEach(assignments, body) => {
                let done = self.graph.new_block("");
                for assignment in assignments {
                    let next = self.graph.new_block("");
                    self.lower_stmt(assignment);
                    self.loops.push((done, next));
                    self.lower_stmts(body);
                    self.loops.pop();
                    self.jump(next);
                    self.graph.enter(next);
                }
                self.jump(done);
                self.graph.enter(done);
            }
            HStmtKind::Break | HStmtKind::Continue => {
                if let Some((done, next)) = self.loops.last().copied() {
                    self.jump(if matches!(stmt.kind, HStmtKind::Break) { done } else { next });
                }
            }
            HStmtKind::Return(value) => {
                let frame = self.inlined_calls.last().map(|f| (f.done, f.result.clone()));
                let Some((done, result)) = frame else { return };
                if let (Some(value), Some((storage, ty))) = (value, result) {
                    let lowered = self.lower_expr(value);
                    self.assign(&LValue::Storage(storage), &lowered, &ty);
                }
                self.jump(done);
            }
            HStmtKind::Exit => self.lower_exit(),
        }
    }

    /// L-value of an assignment. A stack index with a call is evaluated here. Any other index is
    /// evaluated after the right side. This deviates from the specification, but p4c does the same
    /// (docs/use/p4.md).
    fn lower_assignment_target(&mut self, to: &HExpr) -> Option<LValue> {
        let RValue::Stored(place) = self.lower_expr(to) else { return None };
        Some(if contains_call(to) { self.snapshot_lvalue_index(place) } else { place })
    }

    fn lower_switch_value(&mut self, value: &HExpr, cases: &[(Vec<Option<HExpr>>, Vec<HStmt>)]) {
        let key = self.lower_scalar(value);
        let done = self.graph.new_block("");
        let blocks: Vec<_> = cases.iter().map(|_| self.graph.new_block("")).collect();
        let mut default = done;
        let mut lowered = Vec::new();
        for ((labels, _), block) in cases.iter().zip(&blocks) {
            for label in labels {
                match label {
                    None => default = *block,
                    Some(label) => {
                        if let Expr::Const(value) = self.lower_scalar(label) {
                            let patterns = vec![Pattern::Value(value)];
                            lowered.push(SelectCase { patterns, target: *block });
                        }
                    }
                }
            }
        }
        self.end_block(Terminator::Select { keys: vec![key], cases: lowered, default });
        for ((_, body), block) in cases.iter().zip(&blocks) {
            self.graph.enter(*block);
            self.lower_stmts(body);
            self.jump(done);
        }
        self.graph.enter(done);
    }
}
