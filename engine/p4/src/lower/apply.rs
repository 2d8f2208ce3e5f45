//! `table.apply()`: keys, and the bodies of the actions, inlined at this place.

use netkv_ir::{Apply, ApplyTarget, BlockId, Terminator, Word};

use super::Lowerer;
use super::call::Source;
use super::instance::Object;
use super::layout::join;
use crate::ast::Dir;
use crate::effects::has_effects;

impl Lowerer<'_> {
    fn applied(&mut self) -> (Word, Word) {
        if let Some(words) = self.applied {
            return words;
        }
        let words = (self.scalar_place(1).word, self.scalar_place(32).word);
        self.applied = Some(words);
        words
    }

    /// Word that holds whether the last table hit.
    pub(super) fn hit_word(&mut self) -> Word {
        self.applied().0
    }

    /// Applies a table. `arm` tells where to go on after each action (a `switch`); without it all
    /// go on behind the table.
    pub(super) fn apply_table(&mut self, table: usize, arm: Option<&dyn Fn(usize) -> BlockId>) {
        let hir = self.hir;
        let def = &hir.tables[table];
        let Some(Object::Table(id)) = self.objects.get(&def.id).cloned() else { return };
        let span = self.span;
        let mut keys = Vec::new();
        for (i, key) in def.keys.iter().enumerate() {
            let mut value = self.scalar(&key.expr);
            if def.keys[i + 1..].iter().any(|k| has_effects(hir, &k.expr)) {
                value = self.stable(value);
            }
            keys.push(value);
        }
        let (hit, action_run) = self.applied();
        let done = self.graph.block("");
        let mut bodies = Vec::new();
        let mut targets = Vec::new();
        for (i, entry) in def.actions.iter().enumerate() {
            let action = self.program.tables[id as usize].actions[i].action;
            let name = self.program.actions[action as usize].identity.name.clone();
            let block = self.graph.block(name.clone());
            let mut args = entry.args.iter();
            let mut params = Vec::new();
            let mut sources = Vec::new();
            for param in &hir.actions[entry.action].params {
                sources.push(if param.dir == Dir::None {
                    let width = hir.types.width(&param.ty).unwrap_or(1);
                    let place = self.temp(width);
                    let name = join(&name, &param.name);
                    self.program.vars.push(netkv_ir::Var { name, place });
                    params.push(place);
                    Source::Data(place)
                } else {
                    args.next().and_then(|a| a.expr.as_ref()).map_or(Source::None, Source::Expr)
                });
            }
            bodies.push((entry.action, block, sources));
            targets.push(ApplyTarget { params, block });
        }
        let apply = Apply { table: id, keys, hit, action_run, targets };
        self.end(Terminator::Apply(Box::new(apply)));
        for (action, block, sources) in bodies {
            self.graph.enter(block);
            if !self.too_large() {
                let at_exit = self.table_at_exit(action);
                self.call_action(action, &sources, at_exit);
            }
            self.span = span;
            self.jump(arm.map_or(done, |arm| arm(action)));
        }
        self.graph.enter(done);
    }
}
