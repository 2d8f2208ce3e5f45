//! Side effects of expressions, and read and write sets of actions.
//!
//! Lowering uses them to decide which operands and arguments must be copied to temporaries.

use std::collections::HashSet;

use crate::ast::Dir;
use crate::hir::{Callee, DeclId, HExpr, HExprKind, HStmt, HStmtKind, Hir};

/// True if the evaluation of the expression may change state or fail.
pub(crate) fn has_side_effects(hir: &Hir, expr: &HExpr) -> bool {
    let any = |e: &HExpr| has_side_effects(hir, e);
    match &expr.kind {
        HExprKind::Hit(..) => true,
        HExprKind::Call(call) => match &call.callee {
            Callee::Function(id) => {
                pure_body(hir, *id).is_none()
                    || call.args.iter().any(|a| a.expr.as_ref().is_some_and(any))
            }
            Callee::Method(_, of, method) => !(&**of == "packet_in" && &**method == "length"),
            _ => true,
        },
        other => other.operands().into_iter().any(any),
    }
}

/// True if the expression contains a call. p4c assumes that every call except `isValid()` has a
/// side effect.
pub(crate) fn contains_call(expr: &HExpr) -> bool {
    matches!(expr.kind, HExprKind::Call(_) | HExprKind::Hit(..))
        || expr.kind.operands().into_iter().any(contains_call)
}

/// The returned expression of a function that only returns an expression without side effects and
/// has no output parameters.
pub(crate) fn pure_body(hir: &Hir, function: usize) -> Option<&HExpr> {
    let function = &hir.functions[function];
    let takes_values = function.params.iter().all(|p| matches!(p.dir, Dir::None | Dir::In));
    match function.body.as_slice() {
        [HStmt { kind: HStmtKind::Return(Some(value)), .. }]
            if takes_values && !has_side_effects(hir, value) =>
        {
            Some(value)
        }
        _ => None,
    }
}

/// A variable, or a field of one: its declaration and the selected fields. A path ends at the
/// first header stack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldPath {
    pub root: DeclId,
    pub fields: Vec<usize>,
}

/// The variables of the enclosing scope that the body of an action reads and writes.
#[derive(Debug, Default)]
pub(crate) struct ReadWriteSets {
    pub reads: Vec<FieldPath>,
    pub writes: Vec<FieldPath>,
    locals: HashSet<DeclId>,
}

impl ReadWriteSets {
    pub fn of_action(hir: &Hir, action: usize) -> Self {
        let mut sets = ReadWriteSets::default();
        sets.action(hir, action, &mut HashSet::new());
        let ReadWriteSets { reads, writes, locals } = &mut sets;
        reads.retain(|p| !locals.contains(&p.root));
        writes.retain(|p| !locals.contains(&p.root));
        sets
    }

    fn action(&mut self, hir: &Hir, action: usize, seen: &mut HashSet<usize>) {
        if !seen.insert(action) {
            return;
        }
        let action = &hir.actions[action];
        self.locals.extend(action.params.iter().map(|p| p.id));
        self.stmts(hir, &action.body, seen);
    }

    fn stmts(&mut self, hir: &Hir, body: &[HStmt], seen: &mut HashSet<usize>) {
        for stmt in body {
            match &stmt.kind {
                HStmtKind::Decl(var) => {
                    self.locals.insert(var.id);
                    if let Some(init) = &var.init {
                        self.read(hir, init, seen);
                    }
                }
                HStmtKind::Assign(to, value) => {
                    self.write(hir, to, seen);
                    self.read(hir, value, seen);
                }
                HStmtKind::CompoundAssign(to, _, value) => {
                    self.write(hir, to, seen);
                    self.read(hir, to, seen);
                    self.read(hir, value, seen);
                }
                HStmtKind::Call(e) => self.read(hir, e, seen),
                HStmtKind::If(cond, then, otherwise) => {
                    self.read(hir, cond, seen);
                    self.stmts(hir, then, seen);
                    self.stmts(hir, otherwise, seen);
                }
                HStmtKind::SwitchValue(value, cases) => {
                    self.read(hir, value, seen);
                    for (_, body) in cases {
                        self.stmts(hir, body, seen);
                    }
                }
                HStmtKind::SwitchTable(_, cases) => {
                    for (_, body) in cases {
                        self.stmts(hir, body, seen);
                    }
                }
                HStmtKind::Block(body) => self.stmts(hir, body, seen),
                HStmtKind::Loop(cond, body, update) => {
                    self.read(hir, cond, seen);
                    self.stmts(hir, body, seen);
                    self.stmts(hir, update, seen);
                }
                HStmtKind::ForEach(values, body) => {
                    self.stmts(hir, values, seen);
                    self.stmts(hir, body, seen);
                }
                HStmtKind::Return(Some(value)) => self.read(hir, value, seen),
                HStmtKind::Return(None)
                | HStmtKind::Exit
                | HStmtKind::Break
                | HStmtKind::Continue => {}
            }
        }
    }

    fn write(&mut self, hir: &Hir, to: &HExpr, seen: &mut HashSet<usize>) {
        match field_path(to) {
            Some(path) => self.writes.push(path),
            None => self.read(hir, to, seen),
        }
        self.indices(hir, to, seen);
    }

    /// Adds the reads of the stack indices in an l-value.
    fn indices(&mut self, hir: &Hir, place: &HExpr, seen: &mut HashSet<usize>) {
        match &place.kind {
            HExprKind::Field(base, _) | HExprKind::Slice(base, ..) => self.indices(hir, base, seen),
            HExprKind::Next(base) | HExprKind::Last(base) | HExprKind::LastIndex(base) => {
                self.indices(hir, base, seen);
            }
            HExprKind::Element(base, index) => {
                self.indices(hir, base, seen);
                self.read(hir, index, seen);
            }
            _ => {}
        }
    }

    fn read(&mut self, hir: &Hir, expr: &HExpr, seen: &mut HashSet<usize>) {
        if let Some(path) = field_path(expr) {
            self.reads.push(path);
        }
        match &expr.kind {
            HExprKind::Const(_)
            | HExprKind::Str(_)
            | HExprKind::Var(_)
            | HExprKind::InvalidHeader
            | HExprKind::Instance(_)
            | HExprKind::Error => {}
            HExprKind::Field(e, _) => match field_path(e) {
                // Only the field is read, not the whole struct.
                Some(_) => self.indices(hir, e, seen),
                None => self.read(hir, e, seen),
            },
            HExprKind::Slice(e, ..)
            | HExprKind::Unary(_, e)
            | HExprKind::Cast(e)
            | HExprKind::IsValid(e)
            | HExprKind::Next(e)
            | HExprKind::Last(e)
            | HExprKind::LastIndex(e) => self.read(hir, e, seen),
            HExprKind::Element(a, b) | HExprKind::Binary(_, a, b) => {
                self.read(hir, a, seen);
                self.read(hir, b, seen);
            }
            HExprKind::Mux(a, b, c) => {
                self.read(hir, a, seen);
                self.read(hir, b, seen);
                self.read(hir, c, seen);
            }
            HExprKind::Aggregate(parts) => parts.iter().for_each(|p| self.read(hir, p, seen)),
            HExprKind::Hit(call, _) | HExprKind::Call(call) => {
                match &call.callee {
                    Callee::Action(id) => self.action(hir, *id, seen),
                    Callee::SetValid(object, _) | Callee::Push(object, ..) => {
                        self.write(hir, object, seen);
                    }
                    _ => {}
                }
                for arg in &call.args {
                    let Some(e) = &arg.expr else { continue };
                    if matches!(arg.dir, Dir::Out | Dir::InOut) {
                        self.write(hir, e, seen);
                    }
                    self.read(hir, e, seen);
                }
            }
        }
    }
}

/// The path of an l-value, up to the first header stack. `None`: the expression is not an l-value.
pub(crate) fn field_path(expr: &HExpr) -> Option<FieldPath> {
    match &expr.kind {
        HExprKind::Var(id) => Some(FieldPath { root: *id, fields: Vec::new() }),
        HExprKind::Field(base, field) => {
            let mut found = field_path(base)?;
            // A field of a stack element counts as the whole stack.
            if !through_stack(base) {
                found.fields.push(*field);
            }
            Some(found)
        }
        HExprKind::Element(base, _) | HExprKind::Slice(base, ..) => field_path(base),
        HExprKind::Next(base) | HExprKind::Last(base) | HExprKind::LastIndex(base) => {
            field_path(base)
        }
        _ => None,
    }
}

fn through_stack(expr: &HExpr) -> bool {
    match &expr.kind {
        HExprKind::Element(..) | HExprKind::Next(_) | HExprKind::Last(_) => true,
        HExprKind::Field(base, _) | HExprKind::Slice(base, ..) => through_stack(base),
        _ => false,
    }
}
