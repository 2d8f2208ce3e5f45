//! Compiles terminators of blocks: tables, selects and branches.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::Switch;
use netkv_dataplane::HASH_KEYS;
use netkv_ir::{Apply, BlockId, Expr, MatchKind, Pattern, SelectCase, Terminator};

use super::builder::{Builder, field, objects_memory};
use crate::context::TableView;
use crate::helpers;
use crate::known;
use crate::shapes::Search;

/// When a case of a select matches.
enum Matches {
    Always,
    Never,
    If(Value),
}

impl Builder<'_> {
    /// Ends a block; `blocks` are the graph's.
    pub(super) fn terminate(&mut self, terminator: &Terminator, blocks: &[Block]) {
        let block = |id: &BlockId| blocks[*id as usize];
        match terminator {
            Terminator::Jump(to) => {
                self.b.ins().jump(block(to), &[]);
            }
            Terminator::Branch { cond, then, otherwise } => {
                let cond = self.condition(cond);
                match self.number(cond) {
                    Some(number) => {
                        self.b.ins().jump(block(if number == 0 { otherwise } else { then }), &[])
                    }
                    None => self.b.ins().brif(cond, block(then), &[], block(otherwise), &[]),
                };
            }
            Terminator::Select { keys, cases, default } => {
                self.select(keys, cases, block(default), blocks);
            }
            Terminator::Apply(apply) => self.apply(apply, blocks),
            Terminator::Exit => {
                let exit = self.exit;
                self.b.ins().jump(exit, &[]);
            }
        }
    }

    fn select(&mut self, keys: &[Expr], cases: &[SelectCase], default: Block, blocks: &[Block]) {
        let values: Vec<Vec<Value>> = keys.iter().map(|key| self.expr(key)).collect();
        if let [value] = values.as_slice()
            && let [value] = value.as_slice()
            && cases.len() >= 4
            && self.number(*value).is_none()
            && let Some(numbers) = numbers(cases)
        {
            let mut switch = Switch::new();
            let mut seen = std::collections::HashSet::new();
            for (number, case) in numbers.into_iter().zip(cases) {
                // The first of two equal cases is used.
                if seen.insert(number) {
                    switch.set_entry(u128::from(number), blocks[case.target as usize]);
                }
            }
            switch.emit(&mut self.b, *value, default);
            return;
        }
        for case in cases {
            let target = blocks[case.target as usize];
            let matches = match self.case_condition(&values, &case.patterns) {
                Matches::Always => {
                    self.b.ins().jump(target, &[]);
                    return;
                }
                Matches::Never => continue,
                Matches::If(matches) => matches,
            };
            let next = self.new_block();
            self.b.ins().brif(matches, target, &[], next, &[]);
            self.enter(next);
        }
        self.b.ins().jump(default, &[]);
    }

    /// When all patterns match.
    fn case_condition(&mut self, values: &[Vec<Value>], patterns: &[Pattern]) -> Matches {
        if let [Pattern::ValueSet(set)] = patterns {
            let keys: Vec<Value> = values.iter().flatten().copied().collect();
            self.store_keys(&keys);
            let (set, words) = (self.constant(u64::from(*set)), self.constant(keys.len() as u64));
            let matches = self.call_for_result(helpers::value_set as *const (), &[set, words]);
            return Matches::If(matches);
        }
        let mut all: Option<Value> = None;
        for (value, pattern) in values.iter().zip(patterns) {
            if let [value] = value.as_slice()
                && let Some(number) = self.number(*value)
                && let Some(matches) = known::matches(number, pattern)
            {
                if matches {
                    continue;
                }
                return Matches::Never;
            }
            let Some(matches) = self.pattern_condition(value, pattern) else { continue };
            all = Some(match all {
                None => matches,
                Some(all) => self.b.ins().band(all, matches),
            });
        }
        all.map_or(Matches::Always, Matches::If)
    }

    /// The condition that a pattern matches; none if it always does.
    fn pattern_condition(&mut self, value: &[Value], pattern: &Pattern) -> Option<Value> {
        match pattern {
            Pattern::Any => None,
            Pattern::Value(wanted) => {
                let wanted: Vec<Value> =
                    wanted.words.iter().map(|word| self.constant(*word)).collect();
                Some(self.equal(value, &wanted))
            }
            Pattern::Mask(wanted, mask) => {
                let (mut masked, mut wanted_words) = (Vec::new(), Vec::new());
                for ((value, wanted), mask) in value.iter().zip(&wanted.words).zip(&mask.words) {
                    if *mask != 0 {
                        masked.push(self.b.ins().band_imm(*value, *mask as i64));
                        wanted_words.push(self.constant(wanted & mask));
                    }
                }
                (!masked.is_empty()).then(|| self.equal(&masked, &wanted_words))
            }
            Pattern::Range(low, high) => {
                let low: Vec<Value> = low.words.iter().map(|word| self.constant(*word)).collect();
                let high: Vec<Value> = high.words.iter().map(|word| self.constant(*word)).collect();
                let under = self.less(value, &low);
                let over = self.less(&high, value);
                let outside = self.b.ins().bor(under, over);
                Some(self.b.ins().icmp_imm(IntCC::Equal, outside, 0))
            }
            Pattern::ValueSet(_) => {
                debug_assert!(false, "a value set is the only pattern of its case");
                None
            }
        }
    }

    /// Applies a table and goes to the block of its action.
    fn apply(&mut self, apply: &Apply, blocks: &[Block]) {
        let keys = self.keys(apply);
        match self.shapes.searches[apply.table as usize] {
            // It has no entries.
            Search::Exact { .. } if keys.is_empty() => self.miss(apply, blocks),
            Search::Exact { slot_words, direct: true } => {
                self.look_up_slot(apply, keys[0], slot_words, blocks);
            }
            Search::Exact { slot_words, direct: false } => {
                self.look_up(apply, &keys, slot_words, blocks);
            }
            Search::Intervals { slot_words } => {
                self.look_up_interval(apply, keys[0], slot_words, blocks);
            }
            Search::Helper => self.call_lookup(apply, &keys, blocks),
        }
    }

    /// Looks the keys up by a helper.
    fn call_lookup(&mut self, apply: &Apply, keys: &[Value], blocks: &[Block]) {
        let table = &self.program.tables[apply.table as usize];
        let selector: Vec<(Vec<Value>, u32)> = apply
            .keys
            .iter()
            .zip(&table.keys)
            .filter(|(_, key)| key.kind == MatchKind::Selector)
            .map(|(expr, _)| (self.expr(expr), expr.width()))
            .collect();
        let bits: u32 = selector.iter().map(|(_, width)| width).sum();
        let chunks = self.pack(&selector);
        let buffer = self.context_constant(field!(hash));
        self.write(&chunks, buffer, super::builder::context_memory());
        self.store_keys(keys);
        let table = self.constant(u64::from(apply.table));
        let words = self.constant(keys.len() as u64);
        let bytes = self.constant(u64::from(bits.div_ceil(8)));
        let found = self.call_for_result(helpers::apply as *const (), &[table, words, bytes]);
        let hit = self.b.ins().ushr_imm(found, 32);
        let action = self.b.ins().band_imm(found, 0xffff_ffff);
        let data = self.context_load(field!(action_data));
        self.set(apply.hit, hit);
        self.run_action(apply, action, data, blocks);
    }

    /// Looks the key up in the intervals of the table (see [`netkv_dataplane::IntervalMap`]): a
    /// binary search without branches on the key. With too many entries it has none.
    fn look_up_interval(&mut self, apply: &Apply, key: Value, slot_words: usize, blocks: &[Block]) {
        let view = self.table_view(apply.table);
        let slots = self.view_field(view, std::mem::offset_of!(TableView, slots));
        let mask = self.view_field(view, std::mem::offset_of!(TableView, mask));
        let starts = self.view_field(view, std::mem::offset_of!(TableView, starts));
        let (search, halve, found) = (self.new_block(), self.new_block(), self.new_block());
        let (by_helper, hit, miss) = (self.new_block(), self.new_block(), self.new_block());
        let count = self.b.ins().iadd_imm(mask, 1);
        // The last interval that starts at or before the key is among `left` ones from `first` on.
        let [first, left] = [(); 2].map(|()| self.b.append_block_param(search, types::I64));
        self.b.set_cold_block(by_helper);
        self.b.ins().brif(slots, search, &[starts, count].map(BlockArg::Value), by_helper, &[]);

        self.b.switch_to_block(search);
        let several = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, left, 1);
        self.b.ins().brif(several, halve, &[], found, &[]);
        self.enter(halve);
        let half = self.b.ins().ushr_imm(left, 1);
        let distance = self.b.ins().ishl_imm(half, 3);
        let middle = self.b.ins().iadd(first, distance);
        let start = self.b.ins().load(types::I64, objects_memory(), middle, 0);
        let after = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, start, key);
        let first_next = self.b.ins().select(after, middle, first);
        let left_next = self.b.ins().isub(left, half);
        self.b.ins().jump(search, &[first_next, left_next].map(BlockArg::Value));
        self.b.seal_block(search);

        self.enter(found);
        let distance = self.b.ins().isub(first, starts);
        let distance = self.b.ins().imul_imm(distance, slot_words as i64);
        let slot = self.b.ins().iadd(slots, distance);
        let head = self.b.ins().load(types::I64, objects_memory(), slot, 0);
        self.b.ins().brif(head, hit, &[], miss, &[]);

        self.enter(by_helper);
        self.call_lookup(apply, &[key], blocks);

        self.enter(miss);
        self.miss(apply, blocks);

        self.enter(hit);
        self.hit(apply, head, slot, 0, blocks);
    }

    /// The words of the keys of an apply.
    fn keys(&mut self, apply: &Apply) -> Vec<Value> {
        let table = &self.program.tables[apply.table as usize];
        let keys = apply.keys.iter().zip(&table.keys);
        keys.filter(|(_, key)| key.kind != MatchKind::Selector)
            .flat_map(|(expr, _)| self.expr(expr))
            .collect()
    }

    /// The address of the first slot of the search for an apply's key.
    pub(super) fn first_slot(&mut self, apply: &Apply) -> Value {
        let keys = self.keys(apply);
        let Search::Exact { slot_words, direct } = self.shapes.searches[apply.table as usize]
        else {
            unreachable!("only slots of exact tables are prefetched")
        };
        let view = self.table_view(apply.table);
        let slots = self.view_field(view, std::mem::offset_of!(TableView, slots));
        let first = if direct {
            keys[0]
        } else {
            let mask = self.view_field(view, std::mem::offset_of!(TableView, mask));
            let hash = self.key_hash(&keys);
            self.b.ins().band(hash, mask)
        };
        let distance = self.b.ins().imul_imm(first, slot_words as i64 * 8);
        self.b.ins().iadd(slots, distance)
    }

    fn view_field(&mut self, view: Value, offset: usize) -> Value {
        self.b.ins().load(types::I64, objects_memory(), view, offset as i32)
    }

    /// Looks a key up in a table with a slot for each key.
    fn look_up_slot(&mut self, apply: &Apply, key: Value, slot_words: usize, blocks: &[Block]) {
        let view = self.table_view(apply.table);
        let slots = self.view_field(view, std::mem::offset_of!(TableView, slots));
        let distance = self.b.ins().imul_imm(key, slot_words as i64 * 8);
        let slot = self.b.ins().iadd(slots, distance);
        let head = self.b.ins().load(types::I64, objects_memory(), slot, 0);
        let (hit, miss) = (self.new_block(), self.new_block());
        self.b.ins().brif(head, hit, &[], miss, &[]);
        self.enter(miss);
        self.miss(apply, blocks);
        self.enter(hit);
        self.hit(apply, head, slot, 1, blocks);
    }

    /// Runs the action of a slot with this head.
    fn hit(&mut self, apply: &Apply, head: Value, slot: Value, key_words: usize, blocks: &[Block]) {
        let one = self.constant(1);
        self.set(apply.hit, one);
        let action = self.b.ins().band_imm(head, 0xffff_ffff);
        let data = self.b.ins().iadd_imm(slot, 8 + 8 * key_words as i64);
        self.run_action(apply, action, data, blocks);
    }

    /// Looks the keys up in the table's own slots (see [`netkv_dataplane::ExactMap`]).
    fn look_up(&mut self, apply: &Apply, keys: &[Value], slot_words: usize, blocks: &[Block]) {
        let view = self.table_view(apply.table);
        let slots = self.view_field(view, std::mem::offset_of!(TableView, slots));
        let mask = self.view_field(view, std::mem::offset_of!(TableView, mask));
        let hash = self.key_hash(keys);
        let first = self.b.ins().band(hash, mask);

        let (probe, compare, next) = (self.new_block(), self.new_block(), self.new_block());
        let (hit, miss) = (self.new_block(), self.new_block());
        let index = self.b.append_block_param(probe, types::I64);
        self.b.ins().jump(probe, &[BlockArg::Value(first)]);

        self.b.switch_to_block(probe);
        let distance = self.b.ins().imul_imm(index, slot_words as i64 * 8);
        let slot = self.b.ins().iadd(slots, distance);
        let head = self.b.ins().load(types::I64, objects_memory(), slot, 0);
        // The key is compared before the slot is tested for being empty, since most lookups hit. An
        // empty slot has a key of zeros.
        let found: Vec<Value> = (0..keys.len())
            .map(|i| self.b.ins().load(types::I64, objects_memory(), slot, 8 + 8 * i as i32))
            .collect();
        let same = self.equal(keys, &found);
        let taken = self.b.ins().icmp_imm(IntCC::NotEqual, head, 0);
        let both = self.b.ins().band(same, taken);
        self.b.ins().brif(both, hit, &[], compare, &[]);

        self.enter(compare);
        self.b.ins().brif(taken, next, &[], miss, &[]);

        self.enter(next);
        self.b.set_cold_block(next);
        let following = self.b.ins().iadd_imm(index, 1);
        let following = self.b.ins().band(following, mask);
        self.b.ins().jump(probe, &[BlockArg::Value(following)]);
        self.b.seal_block(probe);

        self.enter(miss);
        self.miss(apply, blocks);

        self.enter(hit);
        self.hit(apply, head, slot, keys.len(), blocks);
    }

    /// Runs the default action of a table.
    fn miss(&mut self, apply: &Apply, blocks: &[Block]) {
        let zero = self.constant(0);
        self.set(apply.hit, zero);
        let table = &self.program.tables[apply.table as usize];
        if table.const_default {
            // The default action is constant: jump to its block.
            let target = &apply.targets[table.default_action.action as usize];
            for (place, value) in target.params.iter().zip(&table.default_action.data) {
                let words: Vec<Value> =
                    value.words.iter().map(|word| self.constant(*word)).collect();
                self.store(*place, &words);
            }
            let action = self.constant(u64::from(table.default_action.action));
            self.set(apply.action_run, action);
            self.b.ins().jump(blocks[target.block as usize], &[]);
        } else {
            let view = self.table_view(apply.table);
            let action = self.view_field(view, std::mem::offset_of!(TableView, default_action));
            let data = self.view_field(view, std::mem::offset_of!(TableView, default_data));
            self.run_action(apply, action, data, blocks);
        }
    }

    fn table_view(&mut self, table: u32) -> Value {
        let tables = self.context_constant(field!(tables));
        self.b.ins().iadd_imm(tables, i64::from(table) * size_of::<TableView>() as i64)
    }

    /// The hash of a key, as [`netkv_dataplane::ExactMap`] computes it.
    fn key_hash(&mut self, keys: &[Value]) -> Value {
        let mut hash: Option<Value> = None;
        for (i, pair) in keys.chunks(2).enumerate() {
            let (even, odd) =
                (HASH_KEYS[2 * i % HASH_KEYS.len()], HASH_KEYS[(2 * i + 1) % HASH_KEYS.len()]);
            let a = self.b.ins().bxor_imm(pair[0], even as i64);
            let b = match pair.get(1) {
                Some(word) => self.b.ins().bxor_imm(*word, odd as i64),
                None => self.constant(odd),
            };
            let low = self.b.ins().imul(a, b);
            let high = self.b.ins().umulhi(a, b);
            let folded = self.b.ins().bxor(low, high);
            hash = Some(match hash {
                None => folded,
                Some(hash) => {
                    let turned = self.b.ins().rotl_imm(hash, 23);
                    self.b.ins().bxor(turned, folded)
                }
            });
        }
        hash.expect("a table without keys has nothing to look up")
    }

    /// Jumps to the block of an action, with its parameters from memory.
    fn run_action(&mut self, apply: &Apply, action: Value, data: Value, blocks: &[Block]) {
        self.set(apply.action_run, action);
        let last = apply.targets.len() - 1;
        for (index, target) in apply.targets.iter().enumerate() {
            if index < last {
                let (yes, no) = (self.new_block(), self.new_block());
                let this = self.b.ins().icmp_imm(IntCC::Equal, action, index as i64);
                self.b.ins().brif(this, yes, &[], no, &[]);
                self.enter(yes);
                self.jump_to_action(target, data, blocks);
                self.enter(no);
            } else {
                self.jump_to_action(target, data, blocks);
            }
        }
    }

    fn jump_to_action(&mut self, target: &netkv_ir::ApplyTarget, data: Value, blocks: &[Block]) {
        let mut offset = 0;
        for place in &target.params {
            let words: Vec<Value> = (0..place.words())
                .map(|i| {
                    let at = offset + 8 * i as i32;
                    self.b.ins().load(types::I64, objects_memory(), data, at)
                })
                .collect();
            offset += 8 * place.words() as i32;
            self.store(*place, &words);
        }
        self.b.ins().jump(blocks[target.block as usize], &[]);
    }
}

/// The values of the cases of a select on one word; none if a case has another kind of pattern.
fn numbers(cases: &[SelectCase]) -> Option<Vec<u64>> {
    cases
        .iter()
        .map(|case| match case.patterns.as_slice() {
            [Pattern::Value(value)] if value.width <= 64 => Some(value.words[0]),
            _ => None,
        })
        .collect()
}
