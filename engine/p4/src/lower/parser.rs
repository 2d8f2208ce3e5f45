//! Parser states.

use netkv_ir::{Expr, Op, Pattern, SelectCase, Terminator};

use super::Lowerer;
use super::instance::Object;
use super::layout::join;
use crate::effects::has_effects;
use crate::hir::{HBlock, HTransition, KeySet, Target};

impl Lowerer<'_> {
    /// States of a parser whose parameters are bound; goes on behind `accept`.
    pub(super) fn parser_states(&mut self, block: &HBlock) {
        let hir = self.hir;
        let nested = self.frames.len() > 1;
        let mut blocks = Vec::new();
        for state in &block.states {
            let label = if nested { join(&self.path, &state.name) } else { state.name.to_string() };
            blocks.push(self.graph.block(label));
        }
        let accept = self.graph.block("");
        let reject = self.graph.block("");
        let target = |target: Target| match target {
            Target::State(i) => blocks[i],
            Target::Accept => accept,
            Target::Reject => reject,
        };
        let start = block.states.iter().position(|s| &*s.name == "start");
        self.jump(start.map_or(reject, |i| blocks[i]));
        self.graph.enter(reject);
        self.op(Op::Reject);
        self.end(Terminator::Exit);
        for (state, at) in block.states.iter().zip(&blocks) {
            self.graph.enter(*at);
            self.span = state.span;
            self.stmts(&state.body);
            match &state.transition {
                HTransition::Direct(to) => self.jump(target(*to)),
                HTransition::Select { keys, cases, span } => {
                    self.span = *span;
                    let mut values = Vec::new();
                    for (i, key) in keys.iter().enumerate() {
                        let mut value = self.scalar(key);
                        if keys[i + 1..].iter().any(|k| has_effects(hir, k)) {
                            value = self.stable(value);
                        }
                        values.push(value);
                    }
                    // v1model: without a match the parser accepts.
                    let mut default = accept;
                    let mut made = Vec::new();
                    for (sets, to) in cases {
                        let patterns: Vec<Pattern> =
                            sets.iter().map(|set| self.pattern(set)).collect();
                        // What takes everything ends the list.
                        if patterns.iter().all(|p| *p == Pattern::Any) {
                            default = target(*to);
                            break;
                        }
                        made.push(SelectCase { patterns, target: target(*to) });
                    }
                    self.end(Terminator::Select { keys: values, cases: made, default });
                }
            }
        }
        self.graph.enter(accept);
    }

    fn pattern(&mut self, set: &KeySet) -> Pattern {
        let value = |this: &mut Self, expr| match this.scalar(expr) {
            Expr::Const(value) => value,
            other => netkv_ir::Value::new(other.width(), 0),
        };
        match set {
            KeySet::Any => Pattern::Any,
            KeySet::Value(v) => Pattern::Value(value(self, v)),
            KeySet::Mask(v, mask) => Pattern::Mask(value(self, v), value(self, mask)),
            KeySet::Range(low, high) => Pattern::Range(value(self, low), value(self, high)),
            KeySet::ValueSet(id) => match self.objects.get(id) {
                Some(Object::ValueSet(index)) => Pattern::ValueSet(*index),
                _ => Pattern::Any,
            },
        }
    }
}
