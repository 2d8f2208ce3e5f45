//! Dead-store elimination: removes assignments whose value is never read, as p4c does.
//!
//! This is more than an optimization. p4c's elimination changes results that programs can
//! observe, and programs must behave alike on every target:
//!
//! - A parser error ends the parser, but p4c does not treat it as an exit. If all later states
//!   overwrite a value, p4c removes the first assignment, although a parser error may skip them.
//! - `register.read` with an index out of range leaves its target unchanged, but p4c treats the
//!   target as overwritten. It removes an assignment to the target just before.
//!
//! The analysis is a backward liveness analysis over the words of the state area.

use netkv_ir::{Cfg, Expr, HashInput, Op, Place, Program, Terminator, Word};

/// Set of live words, one bit per word.
#[derive(Clone, PartialEq)]
struct LiveWords(Vec<u64>);

impl LiveWords {
    fn new(words: u32) -> Self {
        LiveWords(vec![0; words.div_ceil(64) as usize])
    }

    fn set(&mut self, word: Word, words: u32, live: bool) {
        for at in word..word + words {
            let bit = 1 << (at % 64);
            match live {
                true => self.0[at as usize / 64] |= bit,
                false => self.0[at as usize / 64] &= !bit,
            }
        }
    }

    fn contains_any(&self, place: Place) -> bool {
        (place.word..place.word + place.words())
            .any(|at| self.0[at as usize / 64] >> (at % 64) & 1 == 1)
    }

    fn kill(&mut self, place: Place) {
        self.set(place.word, place.words(), false);
    }

    fn mark_place(&mut self, place: Place) {
        self.set(place.word, place.words(), true);
    }

    fn mark_all(&mut self) {
        self.0.fill(u64::MAX);
    }

    fn join(&mut self, other: &LiveWords) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    fn mark_expr(&mut self, program: &Program, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::PacketLength => {}
            Expr::Load(place) => self.mark_place(*place),
            Expr::LoadElement { stack, index, .. } => {
                let stack = &program.stacks[*stack as usize];
                self.set(stack.next_index, 1 + stack.size * stack.stride, true);
                self.mark_expr(program, index);
            }
            Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => self.mark_expr(program, arg),
            Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
                self.mark_expr(program, left);
                self.mark_expr(program, right);
            }
            Expr::Mux { cond, then, otherwise } => {
                self.mark_expr(program, cond);
                self.mark_expr(program, then);
                self.mark_expr(program, otherwise);
            }
        }
    }

    fn mark_inputs(&mut self, program: &Program, data: &[HashInput]) {
        for input in data {
            self.mark_expr(program, &input.value);
            if let Some(word) = input.varbit_length {
                self.set(word, 1, true);
            }
            if let Some(header) = input.header {
                self.set(program.headers[header as usize].valid, 1, true);
            }
        }
    }

    /// Transfer function: updates the set from after an operation to before it.
    fn transfer(&mut self, program: &Program, op: &Op) {
        match op {
            Op::Assign { to, value } => {
                self.kill(*to);
                self.mark_expr(program, value);
            }
            Op::AssignSlice { value, .. } => self.mark_expr(program, value),
            Op::ZeroWords { to, words } => self.set(*to, *words, false),
            Op::Lookahead { to, .. } => self.kill(*to),
            Op::RegisterRead { index, to, .. } => {
                self.kill(*to);
                self.mark_expr(program, index);
            }
            Op::RegisterWrite { index, value, .. } => {
                self.mark_expr(program, index);
                self.mark_expr(program, value);
            }
            Op::Hash { to, base, data, max, .. } => {
                self.kill(*to);
                self.mark_expr(program, base);
                self.mark_expr(program, max);
                self.mark_inputs(program, data);
            }
            Op::Random { to, low, high } => {
                self.kill(*to);
                self.mark_expr(program, low);
                self.mark_expr(program, high);
            }
            Op::Count { index: expr, .. }
            | Op::Advance(expr)
            | Op::ExtractVarbit { bits: expr, .. }
            | Op::Assert { cond: expr, .. } => self.mark_expr(program, expr),
            Op::Verify { cond, error } => {
                self.mark_expr(program, cond);
                self.mark_expr(program, error);
            }
            Op::CopyWords { to, from, words } => {
                self.set(*to, *words, false);
                self.set(*from, *words, true);
            }
            Op::Extract(_) => {}
            Op::ExtractNext(stack) | Op::CheckStackLast(stack) => {
                self.set(program.stacks[*stack as usize].next_index, 1, true);
            }
            Op::SetValid(header) => {
                let header = &program.headers[*header as usize];
                self.set(header.valid, 1, true);
            }
            Op::SetInvalid(header) => {
                let header = &program.headers[*header as usize];
                self.set(header.base, header.words, false);
            }
            // Conservative: the other operations read many words, or are rare.
            _ => self.mark_all(),
        }
    }
}

/// Removes dead assignments from a graph. The first `live_out_words` words hold headers and
/// metadata, which are live at the end of the graph. All later words are locals.
pub(super) fn eliminate_dead_stores(program: &Program, graph: &mut Cfg, live_out_words: Word) {
    let words = program.state_words;
    let count = graph.blocks.len();
    let mut entry: Vec<LiveWords> = vec![LiveWords::new(words); count];
    let mut changed = true;
    while changed {
        changed = false;
        for i in (0..count).rev() {
            let mut live = live_at_end(program, graph, i, &entry, live_out_words);
            for op in graph.blocks[i].ops.iter().rev() {
                live.transfer(program, op);
            }
            if live != entry[i] {
                entry[i] = live;
                changed = true;
            }
        }
    }
    for i in 0..count {
        let mut live = live_at_end(program, graph, i, &entry, live_out_words);
        let block = &mut graph.blocks[i];
        let mut keep = vec![true; block.ops.len()];
        for (op, keep) in block.ops.iter().zip(&mut keep).rev() {
            if let Op::Assign { to, .. } = op
                && !live.contains_any(*to)
            {
                *keep = false;
                continue;
            }
            live.transfer(program, op);
        }
        let mut kept_ops = keep.iter();
        block.ops.retain(|_| kept_ops.next() == Some(&true));
        let mut kept_spans = keep.iter();
        block.spans.retain(|_| kept_spans.next() == Some(&true));
    }
}

/// LiveWords words at the end of a block.
fn live_at_end(
    program: &Program,
    graph: &Cfg,
    block: usize,
    entry: &[LiveWords],
    live_out_words: Word,
) -> LiveWords {
    let mut live = LiveWords::new(program.state_words);
    match &graph.blocks[block].terminator {
        Terminator::Jump(to) => live.join(&entry[*to as usize]),
        Terminator::Branch { cond, then, otherwise } => {
            live.join(&entry[*then as usize]);
            live.join(&entry[*otherwise as usize]);
            live.mark_expr(program, cond);
        }
        Terminator::Select { keys, cases, default } => {
            live.join(&entry[*default as usize]);
            for case in cases {
                live.join(&entry[case.target as usize]);
            }
            keys.iter().for_each(|key| live.mark_expr(program, key));
        }
        Terminator::Apply(apply) => {
            for target in &apply.targets {
                live.join(&entry[target.block as usize]);
            }
            live.set(apply.hit, 1, false);
            live.set(apply.action_run, 1, false);
            apply.keys.iter().for_each(|key| live.mark_expr(program, key));
        }
        Terminator::Exit => live.set(0, live_out_words, true),
    }
    live
}
