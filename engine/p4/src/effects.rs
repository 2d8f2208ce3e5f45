//! What code does besides giving a value: decides where temporaries are needed.

use std::collections::HashSet;

use crate::ast::Dir;
use crate::hir::{Callee, HExpr, HKind, HStmt, HStmtKind, Hir, Id};

/// Does evaluating it change anything, or can it fail?
pub(crate) fn has_effects(hir: &Hir, expr: &HExpr) -> bool {
    let any = |e: &HExpr| has_effects(hir, e);
    match &expr.kind {
        HKind::Hit(..) => true,
        HKind::Call(call) => match &call.callee {
            Callee::Function(id) => {
                simple_body(hir, *id).is_none()
                    || call.args.iter().any(|a| a.expr.as_ref().is_some_and(any))
            }
            Callee::Method(_, of, method) => !(&**of == "packet_in" && &**method == "length"),
            _ => true,
        },
        other => other.parts().into_iter().any(any),
    }
}

/// Does it call anything? p4c takes every call to have an effect, `isValid()` excepted.
pub(crate) fn calls(expr: &HExpr) -> bool {
    matches!(expr.kind, HKind::Call(_) | HKind::Hit(..)) || expr.kind.parts().into_iter().any(calls)
}

/// The expression that a function is, when it only takes values and returns one.
pub(crate) fn simple_body(hir: &Hir, function: usize) -> Option<&HExpr> {
    let function = &hir.functions[function];
    let takes_values = function.params.iter().all(|p| matches!(p.dir, Dir::None | Dir::In));
    match function.body.as_slice() {
        [HStmt { kind: HStmtKind::Return(Some(value)), .. }]
            if takes_values && !has_effects(hir, value) =>
        {
            Some(value)
        }
        _ => None,
    }
}

/// A variable or a part of one: its declaration and fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub root: Id,
    pub fields: Vec<usize>,
}

/// What the body of an action uses of the scope around it.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub reads: Vec<Path>,
    pub writes: Vec<Path>,
    own: HashSet<Id>,
}

impl Touched {
    pub fn of_action(hir: &Hir, action: usize) -> Self {
        let mut touched = Touched::default();
        touched.action(hir, action, &mut HashSet::new());
        let Touched { reads, writes, own } = &mut touched;
        reads.retain(|p| !own.contains(&p.root));
        writes.retain(|p| !own.contains(&p.root));
        touched
    }

    fn action(&mut self, hir: &Hir, action: usize, seen: &mut HashSet<usize>) {
        if !seen.insert(action) {
            return;
        }
        let action = &hir.actions[action];
        self.own.extend(action.params.iter().map(|p| p.id));
        self.stmts(hir, &action.body, seen);
    }

    fn stmts(&mut self, hir: &Hir, body: &[HStmt], seen: &mut HashSet<usize>) {
        for stmt in body {
            match &stmt.kind {
                HStmtKind::Decl(var) => {
                    self.own.insert(var.id);
                    if let Some(init) = &var.init {
                        self.read(hir, init, seen);
                    }
                }
                HStmtKind::Assign(to, value) => {
                    self.write(hir, to, seen);
                    self.read(hir, value, seen);
                }
                HStmtKind::Update(to, _, value) => {
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
                HStmtKind::Return(Some(value)) => self.read(hir, value, seen),
                HStmtKind::Return(None) | HStmtKind::Exit => {}
            }
        }
    }

    fn write(&mut self, hir: &Hir, to: &HExpr, seen: &mut HashSet<usize>) {
        match path(to) {
            Some(path) => self.writes.push(path),
            None => self.read(hir, to, seen),
        }
        self.indices(hir, to, seen);
    }

    /// What the indices in the name of a place use.
    fn indices(&mut self, hir: &Hir, place: &HExpr, seen: &mut HashSet<usize>) {
        match &place.kind {
            HKind::Field(base, _) | HKind::Slice(base, ..) => self.indices(hir, base, seen),
            HKind::Next(base) | HKind::Last(base) | HKind::LastIndex(base) => {
                self.indices(hir, base, seen);
            }
            HKind::Element(base, index) => {
                self.indices(hir, base, seen);
                self.read(hir, index, seen);
            }
            _ => {}
        }
    }

    fn read(&mut self, hir: &Hir, expr: &HExpr, seen: &mut HashSet<usize>) {
        if let Some(path) = path(expr) {
            self.reads.push(path);
        }
        match &expr.kind {
            HKind::Const(_) | HKind::Str(_) | HKind::Var(_) | HKind::Invalid | HKind::Wrong => {}
            HKind::Field(e, _) => match path(e) {
                // The field counts, and not all of what it is in.
                Some(_) => self.indices(hir, e, seen),
                None => self.read(hir, e, seen),
            },
            HKind::Slice(e, ..)
            | HKind::Unary(_, e)
            | HKind::Cast(e)
            | HKind::IsValid(e)
            | HKind::Next(e)
            | HKind::Last(e)
            | HKind::LastIndex(e) => self.read(hir, e, seen),
            HKind::Element(a, b) | HKind::Binary(_, a, b) => {
                self.read(hir, a, seen);
                self.read(hir, b, seen);
            }
            HKind::Mux(a, b, c) => {
                self.read(hir, a, seen);
                self.read(hir, b, seen);
                self.read(hir, c, seen);
            }
            HKind::Aggregate(parts) => parts.iter().for_each(|p| self.read(hir, p, seen)),
            HKind::Hit(call, _) | HKind::Call(call) => {
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

/// The place that an expression names, to the last field that is known; a stack counts whole.
pub(crate) fn path(expr: &HExpr) -> Option<Path> {
    match &expr.kind {
        HKind::Var(id) => Some(Path { root: *id, fields: Vec::new() }),
        HKind::Field(base, field) => {
            let mut found = path(base)?;
            // What is behind an element of a stack stays the whole stack.
            if !through_stack(base) {
                found.fields.push(*field);
            }
            Some(found)
        }
        HKind::Element(base, _) | HKind::Slice(base, ..) => path(base),
        HKind::Next(base) | HKind::Last(base) | HKind::LastIndex(base) => path(base),
        _ => None,
    }
}

fn through_stack(expr: &HExpr) -> bool {
    match &expr.kind {
        HKind::Element(..) | HKind::Next(_) | HKind::Last(_) => true,
        HKind::Field(base, _) | HKind::Slice(base, ..) => through_stack(base),
        _ => false,
    }
}
