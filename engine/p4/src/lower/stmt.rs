//! Statements.

use netkv_ir::{Expr, Pattern, SelectCase, Terminator};

use super::Lowerer;
use super::layout::join;
use super::value::{LVal, Val};
use crate::effects::has_effects;
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
            HStmtKind::Assign(..) if self.skipped.contains(&exits::key(stmt)) => {}
            HStmtKind::Assign(to, value) => {
                let Val::At(mut place) = self.value(to) else { return };
                if has_effects(self.hir, value) {
                    place = self.fix_place(place);
                }
                let made = self.value(value);
                self.assign(&place, &made, &to.ty);
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
