//! Lowers parser states and select expressions.

use netkv_ir::{Expr, Op, Pattern, SelectCase, Terminator};

use super::lowerer::Lowerer;
use super::objects::Object;
use super::storage::join;
use crate::hir::{HBlock, HTransition, KeySet, Target};
use crate::side_effects::has_side_effects;

impl Lowerer<'_> {
    /// Lowers the states of a parser, after its parameters are bound. The current block afterwards
    /// is the one that `accept` jumps to.
    pub(super) fn lower_parser_states(&mut self, block: &HBlock) {
        let hir = self.hir;
        let nested = self.inlined_calls.len() > 1;
        let mut blocks = Vec::new();
        for state in &block.states {
            let label = if nested { join(&self.path, &state.name) } else { state.name.to_string() };
            blocks.push(self.graph.new_block(label));
        }
        let accept = self.graph.new_block("");
        let reject = self.graph.new_block("");
        let target = |target: Target| match target {
            Target::State(i) => blocks[i],
            Target::Accept => accept,
            Target::Reject => reject,
        };
        let start = block.states.iter().position(|s| &*s.name == "start");
        self.jump(start.map_or(reject, |i| blocks[i]));
        self.graph.enter(reject);
        self.push_op(Op::Reject);
        self.end_block(Terminator::Exit);
        for (state, at) in block.states.iter().zip(&blocks) {
            self.graph.enter(*at);
            self.span = state.span;
            self.lower_stmts(&state.body);
            match &state.transition {
                HTransition::Direct(to) => self.jump(target(*to)),
                HTransition::Select { keys, cases, span } => {
                    self.span = *span;
                    let mut values = Vec::new();
                    for (i, key) in keys.iter().enumerate() {
                        let mut value = self.lower_scalar(key);
                        if keys[i + 1..].iter().any(|k| has_side_effects(hir, k)) {
                            value = self.snapshot_scalar(value);
                        }
                        values.push(value);
                    }
                    // In v1model, the parser accepts if no case matches.
                    let mut default = accept;
                    let mut lowered = Vec::new();
                    for (sets, to) in cases {
                        let patterns: Vec<Pattern> =
                            sets.iter().map(|set| self.lower_pattern(set)).collect();
                        // A case that always matches ends the list.
                        if patterns.iter().all(|p| *p == Pattern::Any) {
                            default = target(*to);
                            break;
                        }
                        lowered.push(SelectCase { patterns, target: target(*to) });
                    }
                    self.end_block(Terminator::Select { keys: values, cases: lowered, default });
                }
            }
        }
        self.graph.enter(accept);
    }

    fn lower_pattern(&mut self, set: &KeySet) -> Pattern {
        let value = |this: &mut Self, expr| match this.lower_scalar(expr) {
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
