//! Checks statements.

use std::collections::HashSet;

use netkv_ir::Span;

use super::state::{Checker, Context};
use super::symbol::Symbol;
use crate::ast::{DeclKind, Expr, ExprKind, Name, Stmt, StmtKind, SwitchCase, Type};
use crate::hir::{BinOp, Callee, HExpr, HExprKind, HStmt, HStmtKind, HVar};
use crate::types::Ty;

/// True if every path through these statements ends in `return` or `exit`.
pub(super) fn always_returns(body: &[HStmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        HStmtKind::Return(_) | HStmtKind::Exit => true,
        HStmtKind::If(_, then, otherwise) => always_returns(then) && always_returns(otherwise),
        HStmtKind::Block(body) => always_returns(body),
        HStmtKind::SwitchValue(_, cases) => {
            cases.iter().any(|(labels, _)| labels.iter().any(Option::is_none))
                && cases.iter().all(|(_, body)| always_returns(body))
        }
        _ => false,
    })
}

impl Checker<'_> {
    pub(super) fn check_stmts(&mut self, body: &[Stmt]) -> Vec<HStmt> {
        self.push_scope();
        let mut checked = Vec::new();
        for stmt in body {
            checked.extend(self.check_stmt(stmt));
        }
        self.pop_scope();
        checked
    }

    fn check_scoped_stmt(&mut self, stmt: &Stmt) -> Vec<HStmt> {
        self.check_stmts(std::slice::from_ref(stmt))
    }

    pub(super) fn check_stmt(&mut self, stmt: &Stmt) -> Option<HStmt> {
        let span = stmt.span;
        if self.context == Context::Parser
            && matches!(
                stmt.kind,
                StmtKind::Switch(..) | StmtKind::For { .. } | StmtKind::ForIn { .. }
            )
        {
            self.error(
                span,
                "A parser state has no 'switch' and no 'for'; a select and states that lead back do it.",
            );
            return None;
        }
        let kind = match &stmt.kind {
            StmtKind::Empty => return None,
            StmtKind::Decl(decl) => match &decl.kind {
                DeclKind::Const { ty, name, value } => {
                    self.check_shadowed_parameter(name);
                    self.check_const_decl(ty, name, value);
                    return None;
                }
                DeclKind::Var { ty, name, init } => {
                    self.check_shadowed_parameter(name);
                    HStmtKind::Decl(self.check_var_decl(ty, name, init.as_ref()))
                }
                _ => return None,
            },
            StmtKind::Assign(left, op, right) => {
                let to = self.check_expr(left, None);
                self.check_lvalue(&to, "The left side");
                match op {
                    None => {
                        let value = self.check_expr_of_type(right, &to.ty);
                        HStmtKind::Assign(to, value)
                    }
                    Some(op) => self.check_compound_assignment(to, op, right, span)?,
                }
            }
            StmtKind::Call(call) => {
                let call = self.check_expr(call, None);
                match call.kind {
                    HExprKind::Call(_) => HStmtKind::Call(call),
                    HExprKind::Error | HExprKind::Const(_) => return None,
                    _ => {
                        self.reporter.warning(span, "The value of this call is not used.");
                        return None;
                    }
                }
            }
            StmtKind::If(cond, then, otherwise) => {
                let cond = self.check_expr_of_type(cond, &Ty::Bool);
                let then = self.check_scoped_stmt(then);
                let otherwise =
                    otherwise.as_ref().map_or_else(Vec::new, |stmt| self.check_scoped_stmt(stmt));
                HStmtKind::If(cond, then, otherwise)
            }
            StmtKind::Switch(value, cases) => self.check_switch(value, cases, span)?,
            StmtKind::Block(body) => HStmtKind::Block(self.check_stmts(body)),
            StmtKind::Return(value) => self.check_return_stmt(value.as_ref(), span)?,
            StmtKind::Break | StmtKind::Continue => {
                let (word, kind) = match stmt.kind {
                    StmtKind::Break => ("break", HStmtKind::Break),
                    _ => ("continue", HStmtKind::Continue),
                };
                if self.loops == 0 {
                    self.error(span, format!("'{word}' can only stand in a loop."));
                    return None;
                }
                kind
            }
            StmtKind::For { init, cond, update, body } => {
                self.push_scope();
                let mut checked: Vec<HStmt> =
                    init.iter().filter_map(|stmt| self.check_stmt(stmt)).collect();
                let cond = self.check_expr_of_type(cond, &Ty::Bool);
                let update: Vec<HStmt> =
                    update.iter().filter_map(|stmt| self.check_stmt(stmt)).collect();
                let body = self.check_loop_body(body);
                self.pop_scope();
                checked.push(HStmt { kind: HStmtKind::Loop(cond, body, update), span });
                HStmtKind::Block(checked)
            }
            StmtKind::ForIn { ty, name, of, body } => {
                self.push_scope();
                let checked = self.check_for_in(ty, name, of, body, span);
                self.pop_scope();
                HStmtKind::Block(checked)
            }
            StmtKind::Exit => {
                if matches!(self.context, Context::Parser | Context::Function) {
                    self.error(span, "'exit' can only stand in a control or an action.");
                    return None;
                }
                HStmtKind::Exit
            }
        };
        Some(HStmt { kind, span })
    }

    /// Reports a variable or constant with the name of a parameter that it hides.
    fn check_shadowed_parameter(&mut self, name: &Name) {
        if let Some(Symbol::Var(id, _)) = self.lookup(&name.text)
            && self.parameters.contains_key(id)
        {
            let message =
                format!("'{}' is a parameter: give the variable another name.", name.text);
            self.error(name.span, message);
        }
    }

    fn check_loop_body(&mut self, body: &Stmt) -> Vec<HStmt> {
        self.loops += 1;
        let checked = self.check_scoped_stmt(body);
        self.loops -= 1;
        checked
    }

    /// A loop over the values of a range, a list or a stack.
    fn check_for_in(
        &mut self,
        ty: &Type,
        name: &Name,
        of: &Expr,
        body: &Stmt,
        span: Span,
    ) -> Vec<HStmt> {
        let var = self.check_var_decl(ty, name, None);
        let ty = var.ty.clone();
        let to = HExpr { kind: HExprKind::Var(var.id), ty: ty.clone(), span: name.span };
        let mut checked = vec![HStmt { kind: HStmtKind::Decl(var), span }];
        let stmt = |kind| HStmt { kind, span };
        if let ExprKind::Range(low, high) = &of.kind {
            if !matches!(self.hir.types.base(&ty), Ty::Bit(_) | Ty::Int(_) | Ty::Unknown) {
                let shown = self.show(&ty);
                self.error(
                    to.span,
                    format!("A loop over a range needs a bit<W> or int<W>, not a {shown}."),
                );
            }
            let (low, high) =
                (self.check_expr_of_type(low, &ty), self.check_expr_of_type(high, &ty));
            let body = self.check_loop_body(body);
            // The body may assign to the variable of the loop, so another one counts.
            let (at, end) = (self.new_id(), self.new_id());
            let var = |id| HExpr { kind: HExprKind::Var(id), ty: ty.clone(), span };
            let declared = |id, name: &str, init| {
                let (name, ty) = (name.into(), ty.clone());
                stmt(HStmtKind::Decl(HVar { id, name, ty, init: Some(init), span }))
            };
            checked.extend([declared(at, "index", low), declared(end, "last", high)]);
            let compare = |op| {
                let kind = HExprKind::Binary(op, Box::new(var(at)), Box::new(var(end)));
                HExpr { kind, ty: Ty::Bool, span }
            };
            let one = HExpr::constant(1, ty.clone(), span);
            let next = HExprKind::Binary(BinOp::Add, Box::new(var(at)), Box::new(one));
            let next = HExpr { kind: next, ty: ty.clone(), span };
            // The condition holds again after an overflow, so the last value ends the loop.
            let update = vec![
                stmt(HStmtKind::If(compare(BinOp::Eq), vec![stmt(HStmtKind::Break)], Vec::new())),
                stmt(HStmtKind::Assign(var(at), next)),
            ];
            let mut run = vec![stmt(HStmtKind::Assign(to, var(at)))];
            run.extend(body);
            checked.push(stmt(HStmtKind::Loop(compare(BinOp::Le), run, update)));
            return checked;
        }
        let values = self.check_expr(of, None);
        let parts = match (values.kind, values.ty) {
            (HExprKind::Aggregate(parts), _) => parts,
            (_, Ty::Unknown) => Vec::new(),
            (kind, Ty::Stack(element, size)) => {
                let stack = HExpr { kind, ty: Ty::Stack(element.clone(), size), span };
                (0..size)
                    .map(|i| {
                        let index = HExpr::constant(i, Ty::Bit(32), span);
                        let kind = HExprKind::Element(Box::new(stack.clone()), Box::new(index));
                        HExpr { kind, ty: (*element).clone(), span }
                    })
                    .collect()
            }
            (_, other) => {
                let shown = self.show(&other);
                self.error(
                    of.span,
                    format!("A loop runs over a range 'a .. b', a list or a stack, not a {shown}."),
                );
                Vec::new()
            }
        };
        let mut assignments = Vec::new();
        for part in parts {
            let value = self.convert(part, &ty);
            assignments.push(stmt(HStmtKind::Assign(to.clone(), value)));
        }
        let body = self.check_loop_body(body);
        checked.push(stmt(HStmtKind::ForEach(assignments, body)));
        checked
    }

    /// The compound assignment `to op= right`.
    fn check_compound_assignment(
        &mut self,
        to: HExpr,
        op: &str,
        right: &Expr,
        span: Span,
    ) -> Option<HStmtKind> {
        let hint = to.ty.clone();
        let right = self.check_expr(right, Some(&hint));
        let checked = self.make_binary(op, to.clone(), right, span);
        // Without an error, the result is the operation, with the target as its left operand.
        match self.convert(checked, &to.ty).kind {
            HExprKind::Binary(op, _, value) => Some(HStmtKind::CompoundAssign(to, op, *value)),
            _ => None,
        }
    }

    fn check_return_stmt(&mut self, value: Option<&Expr>, span: Span) -> Option<HStmtKind> {
        match (self.context, value) {
            (Context::Parser, _) => {
                self.error(span, "'return' cannot stand in a parser state.");
                None
            }
            (Context::Function, Some(value)) if self.return_type != Ty::Void => {
                let ty = self.return_type.clone();
                Some(HStmtKind::Return(Some(self.check_expr_of_type(value, &ty))))
            }
            (Context::Function, None) if self.return_type != Ty::Void => {
                let shown = self.show(&self.return_type.clone());
                self.error(span, format!("'return' needs a value of type {shown} here."));
                None
            }
            (_, Some(value)) => {
                self.error(value.span, "Nothing can be returned here; 'return;' stands alone.");
                None
            }
            (_, None) => Some(HStmtKind::Return(None)),
        }
    }

    fn check_switch(
        &mut self,
        value: &Expr,
        cases: &[SwitchCase],
        span: Span,
    ) -> Option<HStmtKind> {
        if let ExprKind::Member(base, name) = &value.kind
            && &*name.text == "action_run"
        {
            self.check_default_label(cases);
            let applied = self.check_expr(base, None);
            if Self::is_apply(&applied)
                && let HExprKind::Call(call) = applied.kind
                && let Callee::Table(table) = call.callee
            {
                let cases = self.check_table_cases(table, cases);
                return Some(HStmtKind::SwitchTable(call, cases));
            }
            if applied.ty != Ty::Unknown {
                self.error(span, "'action_run' belongs to the result of a table: 'switch (t.apply().action_run)'.");
            }
            return None;
        }
        self.check_default_label(cases);
        let value = self.check_expr(value, None);
        let value = self.convert_to_underlying_type(value);
        let ty = value.ty.clone();
        if !matches!(ty, Ty::Bit(_) | Ty::Int(_) | Ty::Enum(_) | Ty::Unknown) {
            let shown = self.show(&ty);
            self.error(span, format!("A switch takes a table's action_run, a bit<W>, an int<W> or an enum, not {shown}."));
        }
        let mut checked = Vec::new();
        let mut labels = Vec::new();
        let mut seen = HashSet::new();
        for case in cases {
            let label = match &case.label {
                None => None,
                Some(label) => {
                    let label = self.check_expr_of_type(label, &ty);
                    if label.as_const().is_none() && label.ty != Ty::Unknown {
                        self.error(case.span, "The label of a case must be a constant.");
                    }
                    if let Some(number) = label.as_const()
                        && !seen.insert(number.clone())
                    {
                        self.error(case.span, "This value has a case already.");
                    }
                    Some(label)
                }
            };
            labels.push(label);
            if let Some(body) = &case.body {
                let body = self.check_stmts(body);
                checked.push((std::mem::take(&mut labels), body));
            }
        }
        if !labels.is_empty() {
            checked.push((labels, Vec::new()));
        }
        Some(HStmtKind::SwitchValue(value, checked))
    }

    /// Reports a `default` that is not the last case of a switch.
    fn check_default_label(&mut self, cases: &[SwitchCase]) {
        let Some(at) = cases.iter().position(|case| case.label.is_none()) else { return };
        if let Some(after) = cases.get(at + 1) {
            let message = match after.label {
                None => "This switch has a 'default' already.",
                Some(_) => "No case can follow 'default', which must be the last.",
            };
            self.error(after.span, message);
        }
    }

    fn check_table_cases(
        &mut self,
        table: usize,
        cases: &[SwitchCase],
    ) -> Vec<(Vec<Option<usize>>, Vec<HStmt>)> {
        let mut checked = Vec::new();
        let mut labels = Vec::new();
        let mut seen = Vec::new();
        for case in cases {
            match &case.label {
                None => labels.push(None),
                Some(label) => {
                    if let ExprKind::Ident(name) | ExprKind::Global(name) = &label.kind
                        && let Some(Symbol::Action(action)) = self.lookup(&name.text).cloned()
                        && self.hir.tables[table].actions.iter().any(|a| a.action == action)
                    {
                        if seen.contains(&action) {
                            let message = format!("Action '{}' has a case already.", name.text);
                            self.error(case.span, message);
                        }
                        seen.push(action);
                        labels.push(Some(action));
                    } else {
                        let table = self.hir.tables[table].name.clone();
                        self.error(
                            case.span,
                            format!("Expected an action of table '{table}' or 'default'."),
                        );
                    }
                }
            }
            if let Some(body) = &case.body {
                let body = self.check_stmts(body);
                checked.push((std::mem::take(&mut labels), body));
            }
        }
        checked
    }
}
