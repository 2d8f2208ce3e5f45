//! Checks parser states: transitions, select, key sets and value sets.

use std::collections::HashMap;
use std::rc::Rc;

use netkv_ir::{MatchKind, Span};

use super::state::Checker;
use super::symbol::Symbol;
use crate::annotations::Annotations;
use crate::ast::{Expr, ExprKind, Name, State, Transition};
use crate::diagnostics::did_you_mean;
use crate::hir::{HExpr, HState, HTransition, KeySet, Target};
use crate::types::Ty;

/// True if `accept` or `reject` can be reached from `start`. A select without a case that always
/// matches can end the parser.
fn reaches_end(states: &[HState]) -> bool {
    let mut seen = vec![false; states.len()];
    let mut open: Vec<usize> =
        states.iter().position(|s| &*s.name == "start").into_iter().collect();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let mut targets = Vec::new();
        match &states[at].transition {
            HTransition::Direct(to) => targets.push(*to),
            HTransition::Select { cases, .. } => {
                targets.extend(cases.iter().map(|(_, to)| *to));
                let always = |(sets, _): &(Vec<KeySet>, Target)| {
                    sets.iter().all(|set| matches!(set, KeySet::Any))
                };
                if !cases.iter().any(always) {
                    return true;
                }
            }
        }
        for target in targets {
            match target {
                Target::State(state) => open.push(state),
                Target::Accept | Target::Reject => return true,
            }
        }
    }
    false
}

impl Checker<'_> {
    pub(super) fn check_states(&mut self, states: &[State], parser: &Name) -> Vec<HState> {
        let mut index: HashMap<Rc<str>, usize> = HashMap::new();
        for (i, state) in states.iter().enumerate() {
            let name = &state.name.text;
            if matches!(&**name, "accept" | "reject") {
                self.error(state.name.span, format!("State '{name}' is predefined."));
            }
            if index.insert(name.clone(), i).is_some() {
                self.error(state.name.span, format!("State '{name}' is declared already."));
            }
        }
        if !index.contains_key("start") {
            self.error(parser.span, format!("Parser '{}' has no state 'start'.", parser.text));
        }
        let mut checked = Vec::new();
        for state in states {
            self.push_scope();
            // The locals of a state are also in scope in its transition.
            let mut body = Vec::new();
            for stmt in &state.body {
                body.extend(self.check_stmt(stmt));
            }
            let transition = match &state.transition {
                None => HTransition::Direct(Target::Reject),
                Some(Transition::Direct(name)) => {
                    HTransition::Direct(self.resolve_state(name, &index))
                }
                Some(Transition::Select { keys, cases, span }) => {
                    self.check_select(keys, cases, *span, &index)
                }
            };
            self.pop_scope();
            let name = state.name.text.clone();
            checked.push(HState { name, body, transition, span: state.name.span });
        }
        if index.contains_key("start") && !reaches_end(&checked) {
            let message = format!(
                "Parser '{}' never reaches 'accept' or 'reject': its states only lead to each other.",
                parser.text
            );
            self.error(parser.span, message);
        }
        checked
    }

    fn resolve_state(&mut self, name: &Name, index: &HashMap<Rc<str>, usize>) -> Target {
        match &*name.text {
            "accept" => Target::Accept,
            "reject" => Target::Reject,
            text => match index.get(text) {
                Some(i) => Target::State(*i),
                None => {
                    let known = index.keys().map(|k| &**k).chain(["accept", "reject"]);
                    let hint = did_you_mean(text, known);
                    self.error(name.span, format!("There is no state '{text}'.{hint}"));
                    Target::Reject
                }
            },
        }
    }

    fn check_select(
        &mut self,
        keys: &[Expr],
        cases: &[(Expr, Name)],
        span: Span,
        index: &HashMap<Rc<str>, usize>,
    ) -> HTransition {
        let mut checked_keys = Vec::new();
        for key in keys {
            let value = self.check_expr(key, None);
            let value = self.convert_to_underlying_type(value);
            if value.ty == Ty::InfInt {
                self.error(
                    key.span,
                    "The width of this key is not known; write it with one, such as 8w1.",
                );
            } else if value.ty == Ty::Error {
                self.error(
                    key.span,
                    "A select cannot have a key of type error; compare it in a control.",
                );
            } else if value.ty != Ty::Unknown && self.hir.types.width(&value.ty).is_none() {
                let shown = self.show(&value.ty);
                self.error(key.span, format!("A select takes scalars, not a {shown}."));
            }
            checked_keys.push(value);
        }
        let types: Vec<Ty> = checked_keys.iter().map(|k| k.ty.clone()).collect();
        let mut checked = Vec::new();
        for (set, name) in cases {
            let sets = self.check_key_sets(set, &types);
            let target = self.resolve_state(name, index);
            checked.extend(sets.map(|sets| (sets, target)));
        }
        HTransition::Select { keys: checked_keys, cases: checked, span }
    }

    /// The sets of a select case or table entry, one per key. `None`: an error was reported.
    pub(super) fn check_key_sets(&mut self, set: &Expr, types: &[Ty]) -> Option<Vec<KeySet>> {
        let parts: Vec<&Expr> = match &set.kind {
            ExprKind::KeyTuple(parts) => parts.iter().collect(),
            ExprKind::DontCare => return Some(vec![KeySet::Any; types.len()]),
            ExprKind::Ident(name) => {
                if let Some(Symbol::ValueSet(id, index)) = self.lookup(&name.text).cloned() {
                    let keys = &self.hir.value_sets[index].keys;
                    let fits = keys.len() == types.len()
                        && keys.iter().zip(types).all(|((_, ty, ..), wanted)| ty == wanted);
                    if !fits {
                        self.error(
                            set.span,
                            format!(
                                "The keys of value set '{}' differ from those of the select.",
                                name.text
                            ),
                        );
                        return None;
                    }
                    return Some(vec![KeySet::ValueSet(id)]);
                }
                vec![set]
            }
            _ => vec![set],
        };
        if parts.len() != types.len() {
            let message =
                format!("There are {} keys, but {} values here.", types.len(), parts.len());
            self.error(set.span, message);
            return None;
        }
        let mut checked = Vec::new();
        for (part, ty) in parts.into_iter().zip(types) {
            checked.push(self.check_key_set(part, ty)?);
        }
        Some(checked)
    }

    fn check_key_set(&mut self, set: &Expr, ty: &Ty) -> Option<KeySet> {
        match &set.kind {
            ExprKind::DontCare => Some(KeySet::Any),
            ExprKind::Mask(value, mask) => Some(KeySet::Mask(
                self.check_set_value(value, ty)?,
                self.check_set_value(mask, ty)?,
            )),
            ExprKind::Range(low, high) => {
                if self.hir.types.is_signed(ty) {
                    self.reporter.unsupported(set.span, "A range of a signed key");
                    return None;
                }
                let (low, high) = (self.check_set_value(low, ty)?, self.check_set_value(high, ty)?);
                if low.as_const() > high.as_const() {
                    self.reporter.warning(
                        set.span,
                        "This range is empty: its lower end is the greater one.",
                    );
                }
                Some(KeySet::Range(low, high))
            }
            ExprKind::KeyTuple(parts) if parts.len() == 1 => self.check_key_set(&parts[0], ty),
            _ => Some(KeySet::Value(self.check_set_value(set, ty)?)),
        }
    }

    fn check_set_value(&mut self, expr: &Expr, ty: &Ty) -> Option<HExpr> {
        let base = self.hir.types.base(ty);
        let value = self.check_expr(expr, Some(&base));
        // A number without width is also allowed for a key of a new type.
        let checked = match value.ty {
            Ty::InfInt => self.convert(value, &base),
            _ => self.convert(value, ty),
        };
        if checked.ty == Ty::Unknown && checked.as_const().is_none() {
            return None;
        }
        if checked.as_const().is_none() {
            self.error(expr.span, "Expected a constant here.");
            return None;
        }
        Some(checked)
    }

    /// Keys of a value set with this element type.
    pub(super) fn value_set_keys(
        &mut self,
        element: &Ty,
        span: Span,
    ) -> Vec<(Rc<str>, Ty, MatchKind, Annotations)> {
        match element {
            Ty::Unknown => Vec::new(),
            Ty::Struct(id) => {
                let fields = self.hir.types.structs[*id].fields.clone();
                let mut keys = Vec::new();
                for field in fields {
                    let kind = match field.annotations.match_kind.as_deref() {
                        None | Some("exact") => MatchKind::Exact,
                        Some("ternary") => MatchKind::Ternary,
                        Some("lpm") => MatchKind::Lpm,
                        Some("range") => MatchKind::Range,
                        Some("optional") => MatchKind::Optional,
                        Some(other) => {
                            self.error(span, format!("'{other}' is no match kind of a value set."));
                            MatchKind::Exact
                        }
                    };
                    let name = field.annotations.name.clone().unwrap_or(field.name);
                    keys.push((name, field.ty, kind, field.annotations));
                }
                keys
            }
            Ty::Tuple(parts) => parts
                .iter()
                .enumerate()
                .map(|(i, ty)| {
                    let name = format!("f{i}").into();
                    (name, ty.clone(), MatchKind::Exact, Annotations::default())
                })
                .collect(),
            _ if self.hir.types.width(element).is_some() => {
                vec![("".into(), element.clone(), MatchKind::Exact, Annotations::default())]
            }
            _ => {
                let shown = self.show(element);
                self.error(
                    span,
                    format!("A value set holds scalars, structs or tuples, not {shown}."),
                );
                Vec::new()
            }
        }
    }
}
