//! Numbers the storage locations of an action's variables, for liveness analysis.
//!
//! A scalar is one location. A header has one location for its validity, followed by those of its
//! fields. Structs, stacks and tuples are the locations of their members, in order.

use std::collections::HashMap;
use std::ops::Range;

use crate::hir::{DeclId, HAction, HExpr, HExprKind, HStmt, HStmtKind};
use crate::types::{Ty, Types};

/// Actions with more locations than this are not analysed.
const MAX_LOCATIONS: u64 = 1 << 14;

/// The locations that an l-value may access. They are consecutive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocationSet {
    pub root: DeclId,
    first: usize,
    count: usize,
    /// The l-value accesses all of these locations. False: it accesses one element of a stack
    /// whose index is unknown.
    pub exact: bool,
    /// The l-value is a slice of the location: highest and lowest bit.
    pub bits: Option<(u32, u32)>,
    /// Validity of the header that the l-value is, or is a field of.
    pub valid: Option<usize>,
}

impl LocationSet {
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// The locations of all parameters and locals of an action.
pub(crate) struct StorageLocations<'a> {
    types: &'a Types,
    vars: HashMap<DeclId, (usize, &'a Ty)>,
    count: u64,
}

impl<'a> StorageLocations<'a> {
    /// Numbers the parameters and locals of an action. `None`: there are too many locations.
    pub fn of_action(types: &'a Types, action: &'a HAction) -> Option<Self> {
        let mut locations = StorageLocations { types, vars: HashMap::new(), count: 0 };
        for param in &action.params {
            locations.add(param.id, &param.ty);
        }
        locations.add_locals(&action.body);
        (locations.count <= MAX_LOCATIONS).then_some(locations)
    }

    fn add(&mut self, id: DeclId, ty: &'a Ty) {
        if self.types.scalars(ty).max(self.count) > MAX_LOCATIONS {
            self.count = u64::MAX;
        } else {
            self.vars.insert(id, (self.count as usize, ty));
            self.count += self.size(ty);
        }
    }

    fn add_locals(&mut self, body: &'a [HStmt]) {
        for stmt in body {
            match &stmt.kind {
                HStmtKind::Decl(var) => self.add(var.id, &var.ty),
                HStmtKind::If(_, then, otherwise) => {
                    self.add_locals(then);
                    self.add_locals(otherwise);
                }
                HStmtKind::Block(body) => self.add_locals(body),
                HStmtKind::Loop(_, body, update) | HStmtKind::ForEach(update, body) => {
                    self.add_locals(body);
                    self.add_locals(update);
                }
                HStmtKind::SwitchValue(_, cases) => {
                    cases.iter().for_each(|(_, body)| self.add_locals(body));
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

    /// All locations of a variable. `None`: the variable does not belong to the action.
    pub fn of_var(&self, id: DeclId) -> Option<LocationSet> {
        let (first, ty) = *self.vars.get(&id)?;
        Some(self.location_set(id, first, ty, None))
    }

    fn location_set(
        &self,
        root: DeclId,
        first: usize,
        ty: &Ty,
        outer: Option<usize>,
    ) -> LocationSet {
        let valid = if self.types.is_header(ty) { Some(first) } else { outer };
        LocationSet { root, first, count: self.size(ty) as usize, exact: true, bits: None, valid }
    }

    /// The locations that an expression accesses. `None`: the expression is not an l-value in a
    /// variable of the action.
    pub fn of_expr(&self, expr: &HExpr) -> Option<LocationSet> {
        match &expr.kind {
            HExprKind::Var(id) => self.of_var(*id),
            HExprKind::Field(base, field) => {
                let of = self
                    .of_expr(base)
                    .filter(|_| matches!(base.ty, Ty::Struct(_) | Ty::Tuple(_)))?;
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
                Some(self.location_set(of.root, first, &expr.ty, of.valid))
            }
            HExprKind::Element(base, index) => {
                let of = self.of_expr(base)?;
                match index.as_const().and_then(|at| usize::try_from(at).ok()) {
                    Some(at) if of.exact => {
                        let size = self.size(&expr.ty) as usize;
                        let first = of.first + at * size;
                        (first + size <= of.range().end)
                            .then(|| self.location_set(of.root, first, &expr.ty, None))
                    }
                    _ => Some(LocationSet { exact: false, ..of }),
                }
            }
            HExprKind::Next(base) | HExprKind::Last(base) | HExprKind::LastIndex(base) => {
                self.of_expr(base).map(|of| LocationSet { exact: false, ..of })
            }
            HExprKind::Slice(base, high, low) => self.of_expr(base).map(|of| {
                let below = of.bits.map_or(0, |(_, low)| low);
                LocationSet { bits: Some((high + below, low + below)), ..of }
            }),
            _ => None,
        }
    }
}
