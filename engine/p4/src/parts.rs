//! The parts of an action's own variables, numbered: what an assignment to one of them leaves
//! of the others.

use std::collections::HashMap;
use std::ops::Range;

use crate::hir::{HAction, HExpr, HKind, HStmt, HStmtKind, Id};
use crate::types::{Ty, Types};

/// Variables with more parts than this are not looked into.
const MAX_PARTS: u64 = 1 << 14;

/// What an l-value names of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub root: Id,
    first: usize,
    count: usize,
    /// It is all of these parts, and not one of several.
    pub exact: bool,
    /// Only these bits: high and low.
    pub bits: Option<(u32, u32)>,
    /// The validity of the header that it is or is in.
    pub valid: Option<usize>,
}

impl Part {
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The variables of an action: scalars are one part, headers have one more for their validity,
/// which comes first.
pub(crate) struct Parts<'a> {
    types: &'a Types,
    vars: HashMap<Id, (usize, &'a Ty)>,
    count: u64,
}

impl<'a> Parts<'a> {
    /// The parameters and locals of an action; None when they are too large.
    pub fn of_action(types: &'a Types, action: &'a HAction) -> Option<Self> {
        let mut parts = Parts { types, vars: HashMap::new(), count: 0 };
        for param in &action.params {
            parts.add(param.id, &param.ty);
        }
        parts.locals(&action.body);
        (parts.count <= MAX_PARTS).then_some(parts)
    }

    fn add(&mut self, id: Id, ty: &'a Ty) {
        if self.types.scalars(ty).max(self.count) > MAX_PARTS {
            self.count = u64::MAX;
        } else {
            self.vars.insert(id, (self.count as usize, ty));
            self.count += self.size(ty);
        }
    }

    fn locals(&mut self, body: &'a [HStmt]) {
        for stmt in body {
            match &stmt.kind {
                HStmtKind::Decl(var) => self.add(var.id, &var.ty),
                HStmtKind::If(_, then, otherwise) => {
                    self.locals(then);
                    self.locals(otherwise);
                }
                HStmtKind::Block(body) => self.locals(body),
                HStmtKind::SwitchValue(_, cases) => {
                    cases.iter().for_each(|(_, body)| self.locals(body));
                }
                _ => {}
            }
        }
    }

    pub fn count(&self) -> usize {
        self.count as usize
    }

    fn size(&self, ty: &Ty) -> u64 {
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        match self.types.base(ty) {
            Ty::Struct(id) => {
                let validity = u64::from(self.types.is_header(ty));
                let fields = &self.types.structs[id].fields;
                validity.saturating_add(sum(&mut fields.iter().map(|f| self.size(&f.ty))))
            }
            Ty::Stack(of, count) => self.size(&of).saturating_mul(u64::from(count)),
            Ty::Tuple(parts) => sum(&mut parts.iter().map(|part| self.size(part))),
            _ => 1,
        }
    }

    /// All of a variable of the action; None for other variables.
    pub fn of_var(&self, id: Id) -> Option<Part> {
        let (first, ty) = *self.vars.get(&id)?;
        Some(self.part(id, first, ty, None))
    }

    fn part(&self, root: Id, first: usize, ty: &Ty, outer: Option<usize>) -> Part {
        let valid = if self.types.is_header(ty) { Some(first) } else { outer };
        Part { root, first, count: self.size(ty) as usize, exact: true, bits: None, valid }
    }

    /// What an expression names, if it names a part of a variable of the action.
    pub fn find(&self, expr: &HExpr) -> Option<Part> {
        match &expr.kind {
            HKind::Var(id) => self.of_var(*id),
            HKind::Field(base, field) => {
                let of =
                    self.find(base).filter(|_| matches!(base.ty, Ty::Struct(_) | Ty::Tuple(_)))?;
                if !of.exact {
                    return Some(of);
                }
                let members: Vec<&Ty> = match &base.ty {
                    Ty::Struct(id) => {
                        self.types.structs[*id].fields.iter().map(|f| &f.ty).collect()
                    }
                    Ty::Tuple(parts) => parts.iter().collect(),
                    _ => return None,
                };
                let before: u64 = members[..*field].iter().map(|ty| self.size(ty)).sum();
                let validity = usize::from(self.types.is_header(&base.ty));
                let first = of.first + validity + before as usize;
                Some(self.part(of.root, first, &expr.ty, of.valid))
            }
            HKind::Element(base, index) => {
                let of = self.find(base)?;
                match index.as_const().and_then(|at| usize::try_from(at).ok()) {
                    Some(at) if of.exact => {
                        let size = self.size(&expr.ty) as usize;
                        let first = of.first + at * size;
                        (first + size <= of.range().end)
                            .then(|| self.part(of.root, first, &expr.ty, None))
                    }
                    _ => Some(Part { exact: false, ..of }),
                }
            }
            HKind::Next(base) | HKind::Last(base) | HKind::LastIndex(base) => {
                self.find(base).map(|of| Part { exact: false, ..of })
            }
            HKind::Slice(base, high, low) => self.find(base).map(|of| {
                let below = of.bits.map_or(0, |(_, low)| low);
                Part { bits: Some((high + below, low + below)), ..of }
            }),
            _ => None,
        }
    }
}
