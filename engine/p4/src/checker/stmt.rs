//! Checks statements.

use netkv_ir::Span;

use super::{Checker, Context, Symbol};
use crate::ast::{DeclKind, Expr, ExprKind, Stmt, StmtKind, SwitchCase};
use crate::hir::{Callee, HExpr, HExprKind, HStmt, HStmtKind};
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
        let kind = match &stmt.kind {
            StmtKind::Empty => return None,
            StmtKind::Decl(decl) => match &decl.kind {
                DeclKind::Const { ty, name, value } => {
                    self.check_const_decl(ty, name, value);
                    return None;
                }
                DeclKind::Var { ty, name, init } => {
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
        let value = self.check_expr(value, None);
        let value = self.convert_to_underlying_type(value);
        let ty = value.ty.clone();
        let is_scalar = self.hir.types.width(&ty).is_some();
        if ty != Ty::Unknown && !is_scalar {
            let shown = self.show(&ty);
            self.error(span, format!("A switch takes a table's action_run, bit<W>, int<W>, an enum, error or bool, not {shown}."));
        }
        let mut checked = Vec::new();
        let mut labels = Vec::new();
        for case in cases {
            let label = match &case.label {
                None => None,
                Some(label) => {
                    let label = self.check_expr_of_type(label, &ty);
                    if label.as_const().is_none() && label.ty != Ty::Unknown {
                        self.error(case.span, "The label of a case must be a constant.");
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

    fn check_table_cases(
        &mut self,
        table: usize,
        cases: &[SwitchCase],
    ) -> Vec<(Vec<Option<usize>>, Vec<HStmt>)> {
        let mut checked = Vec::new();
        let mut labels = Vec::new();
        for case in cases {
            match &case.label {
                None => labels.push(None),
                Some(label) => {
                    if let ExprKind::Ident(name) | ExprKind::Global(name) = &label.kind
                        && let Some(Symbol::Action(action)) = self.lookup(&name.text).cloned()
                        && self.hir.tables[table].actions.iter().any(|a| a.action == action)
                    {
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
