//! Statements.

use netkv_ir::{Expr, Pattern, SelectCase, Terminator};

use super::Lowerer;
use super::layout::join;
use super::ops;
use super::value::{LVal, Val};
use crate::effects::calls;
use crate::exits;
use crate::hir::{Callee, HExpr, HStmt, HStmtKind, HVar};

impl Lowerer<'_> {
    pub(super) fn stmts(&mut self, body: &[HStmt]) {
        for stmt in body {
            if self.too_large() {
                return;
            }
            self.span = stmt.span;
            self.stmt(stmt);
        }
    }

    /// Makes room for a variable and gives it its first value.
    pub(super) fn declare(&mut self, var: &HVar) {
        self.span = var.span;
        let value = var.init.as_ref().map(|init| self.value(init));
        let name = join(&self.path, &var.name);
        let store = self.allocate(&var.ty, &name);
        let place = LVal::Store(store.clone());
        match value {
            Some(value) => self.assign(&place, &value, &var.ty),
            None => self.zero(&store),
        }
        self.env.insert(var.id, Val::At(place));
    }

    fn stmt(&mut self, stmt: &HStmt) {
        match &stmt.kind {
            HStmtKind::Decl(var) => self.declare(var),
            HStmtKind::Assign(to, value) | HStmtKind::Update(to, _, value)
                if self.skipped.contains(&exits::key(stmt)) =>
            {
                for expr in [to, value].into_iter().filter(|expr| calls(expr)) {
                    self.value(expr);
                }
            }
            HStmtKind::Assign(to, value) => {
                let Some(mut place) = self.target(to) else { return };
                let made = self.value(value);
                if self.hir.types.width(&to.ty).is_none() {
                    // It is written in parts, and none of them may move it.
                    place = self.fix_place(place);
                }
                self.assign(&place, &made, &to.ty);
            }
            HStmtKind::Update(to, op, value) => {
                let Some(place) = self.target(to) else { return };
                let value = self.scalar(value);
                let old = self.load_place(&place);
                let signed = self.hir.types.is_signed(&to.ty);
                self.store_scalar(&place, ops::binary(*op, signed, old, value));
            }
            HStmtKind::Call(call) => drop(self.value(call)),
            HStmtKind::If(cond, then, otherwise) => {
                let cond = self.scalar(cond);
                let (yes, done) = (self.graph.block(""), self.graph.block(""));
                let no = if otherwise.is_empty() { done } else { self.graph.block("") };
                self.end(Terminator::Branch { cond, then: yes, otherwise: no });
                self.graph.enter(yes);
                self.stmts(then);
                self.jump(done);
                if !otherwise.is_empty() {
                    self.graph.enter(no);
                    self.stmts(otherwise);
                    self.jump(done);
                }
                self.graph.enter(done);
            }
            HStmtKind::SwitchTable(call, cases) => {
                let Callee::Table(table) = call.callee else { return };
                let done = self.graph.block("");
                let blocks: Vec<_> = cases.iter().map(|_| self.graph.block("")).collect();
                let case_of = |wanted: Option<usize>| {
                    cases.iter().position(|(labels, _)| labels.contains(&wanted))
                };
                let default = case_of(None).map_or(done, |i| blocks[i]);
                let arm = |action: usize| case_of(Some(action)).map_or(default, |i| blocks[i]);
                self.apply_table(table, Some(&arm));
                for ((_, body), block) in cases.iter().zip(&blocks) {
                    self.graph.enter(*block);
                    self.stmts(body);
                    self.jump(done);
                }
                self.graph.enter(done);
            }
            HStmtKind::SwitchValue(value, cases) => self.switch_value(value, cases),
            HStmtKind::Block(body) => self.stmts(body),
            HStmtKind::Return(value) => {
                let frame = self.frames.last().map(|f| (f.done, f.result.clone()));
                let Some((done, result)) = frame else { return };
                if let (Some(value), Some((store, ty))) = (value, result) {
                    let made = self.value(value);
                    self.assign(&LVal::Store(store), &made, &ty);
                }
                self.jump(done);
            }
            HStmtKind::Exit => self.exit(),
        }
    }

    /// The place on the left of an assignment. An index that does more than give a value is
    /// evaluated here. Another one is left to be read when the right side has been evaluated: the
    /// specification has it the other way round, but this is what p4c makes of it (docs/p4.md).
    fn target(&mut self, to: &HExpr) -> Option<LVal> {
        let Val::At(place) = self.value(to) else { return None };
        Some(if calls(to) { self.fix_place(place) } else { place })
    }

    fn switch_value(&mut self, value: &HExpr, cases: &[(Vec<Option<HExpr>>, Vec<HStmt>)]) {
        let key = self.scalar(value);
        let done = self.graph.block("");
        let blocks: Vec<_> = cases.iter().map(|_| self.graph.block("")).collect();
        let mut default = done;
        let mut made = Vec::new();
        for ((labels, _), block) in cases.iter().zip(&blocks) {
            for label in labels {
                match label {
                    None => default = *block,
                    Some(label) => {
                        if let Expr::Const(value) = self.scalar(label) {
                            let patterns = vec![Pattern::Value(value)];
                            made.push(SelectCase { patterns, target: *block });
                        }
                    }
                }
            }
        }
        self.end(Terminator::Select { keys: vec![key], cases: made, default });
        for ((_, body), block) in cases.iter().zip(&blocks) {
            self.graph.enter(*block);
            self.stmts(body);
            self.jump(done);
        }
        self.graph.enter(done);
    }
}
