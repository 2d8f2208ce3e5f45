//! Lowers `table.apply()`: evaluates the keys, and inlines the bodies of the actions.

use netkv_ir::{Apply, ApplyTarget, BlockId, Terminator, Word};

use super::inlining::ArgSource;
use super::lowerer::Lowerer;
use super::objects::Object;
use super::storage::join;
use crate::ast::Dir;
use crate::side_effects::has_side_effects;

impl Lowerer<'_> {
    fn apply_result_words(&mut self) -> (Word, Word) {
        if let Some(words) = self.apply_result {
            return words;
        }
        let words = (self.allocate_scalar(1).word, self.allocate_scalar(32).word);
        self.apply_result = Some(words);
        words
    }

    /// Word that is 1 if the last applied table hit.
    pub(super) fn hit_word(&mut self) -> Word {
        self.apply_result_words().0
    }

    /// Applies a table. In a `switch`, `case_block` returns the successor of each action.
    /// Otherwise, all actions continue after the table.
    pub(super) fn lower_table_apply(
        &mut self,
        table: usize,
        case_block: Option<&dyn Fn(usize) -> BlockId>,
    ) {
        let hir = self.hir;
        let def = &hir.tables[table];
        let Some(Object::Table(id)) = self.objects.get(&def.id).cloned() else { return };
        let span = self.span;
        let mut keys = Vec::new();
        for (i, key) in def.keys.iter().enumerate() {
            let mut value = self.lower_scalar(&key.expr);
            if def.keys[i + 1..].iter().any(|k| has_side_effects(hir, &k.expr)) {
                value = self.snapshot_scalar(value);
            }
            keys.push(value);
        }
        let (hit, action_run) = self.apply_result_words();
        let done = self.graph.new_block("");
        let mut bodies = Vec::new();
        let mut targets = Vec::new();
        for (i, entry) in def.actions.iter().enumerate() {
            let action = self.program.tables[id as usize].actions[i].action;
            let name = self.program.actions[action as usize].identity.name.clone();
            let block = self.graph.new_block(name.clone());
            let mut args = entry.args.iter();
            let mut params = Vec::new();
            let mut sources = Vec::new();
            for param in &hir.actions[entry.action].params {
                sources.push(if param.dir == Dir::None {
                    let width = hir.types.width(&param.ty).unwrap_or(1);
                    let place = self.new_temp(width);
                    let name = join(&name, &param.name);
                    self.program.vars.push(netkv_ir::Var { name, place });
                    params.push(place);
                    ArgSource::ActionData(place)
                } else {
                    args.next()
                        .and_then(|a| a.expr.as_ref())
                        .map_or(ArgSource::None, ArgSource::Expr)
                });
            }
            bodies.push((entry.action, block, sources));
            targets.push(ApplyTarget { params, block });
        }
        let apply = Apply { table: id, keys, hit, action_run, targets };
        self.end_block(Terminator::Apply(Box::new(apply)));
        for (action, block, sources) in bodies {
            self.graph.enter(block);
            if !self.too_large() {
                let at_exit = self.table_at_exit(action);
                self.inline_action(action, &sources, at_exit);
            }
            self.span = span;
            self.jump(case_block.map_or(done, |case_block| case_block(action)));
        }
        self.graph.enter(done);
    }
}
