//! Removes assignments whose value nobody reads, as p4c does.
//!
//! This is more than a saving, because p4c takes liberties that its users can see, and our
//! programs have to behave on every target alike:
//!
//! - a parser error ends a graph at once, but p4c does not count it as a way out: a value that
//!   every state behind overwrites is never written;
//! - `register.read` out of range leaves its target alone, but p4c counts it as overwritten:
//!   what was assigned just before is never written.

use netkv_ir::{Cfg, Expr, HashInput, Op, Place, Program, Terminator, Word};

/// Words whose value matters, one bit each.
#[derive(Clone, PartialEq)]
struct Live(Vec<u64>);

impl Live {
    fn new(words: u32) -> Self {
        Live(vec![0; words.div_ceil(64) as usize])
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

    fn any(&self, place: Place) -> bool {
        (place.word..place.word + place.words())
            .any(|at| self.0[at as usize / 64] >> (at % 64) & 1 == 1)
    }

    fn kill(&mut self, place: Place) {
        self.set(place.word, place.words(), false);
    }

    fn place(&mut self, place: Place) {
        self.set(place.word, place.words(), true);
    }

    fn all(&mut self) {
        self.0.fill(u64::MAX);
    }

    fn join(&mut self, other: &Live) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    fn expr(&mut self, program: &Program, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::PacketLength => {}
            Expr::Load(place) => self.place(*place),
            Expr::LoadElement { stack, index, .. } => {
                let stack = &program.stacks[*stack as usize];
                self.set(stack.next_index, 1 + stack.size * stack.stride, true);
                self.expr(program, index);
            }
            Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => self.expr(program, arg),
            Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
                self.expr(program, left);
                self.expr(program, right);
            }
            Expr::Mux { cond, then, otherwise } => {
                self.expr(program, cond);
                self.expr(program, then);
                self.expr(program, otherwise);
            }
        }
    }

    fn inputs(&mut self, program: &Program, data: &[HashInput]) {
        for input in data {
            self.expr(program, &input.value);
            if let Some(word) = input.varbit_length {
                self.set(word, 1, true);
            }
            if let Some(header) = input.header {
                self.set(program.headers[header as usize].valid, 1, true);
            }
        }
    }

    /// What matters before an operation, from what matters behind it.
    fn before(&mut self, program: &Program, op: &Op) {
        match op {
            Op::Assign { to, value } => {
                self.kill(*to);
                self.expr(program, value);
            }
            Op::AssignSlice { value, .. } => self.expr(program, value),
            Op::ZeroWords { to, words } => self.set(*to, *words, false),
            Op::Lookahead { to, .. } => self.kill(*to),
            Op::RegisterRead { index, to, .. } => {
                self.kill(*to);
                self.expr(program, index);
            }
            Op::RegisterWrite { index, value, .. } => {
                self.expr(program, index);
                self.expr(program, value);
            }
            Op::Hash { to, base, data, max, .. } => {
                self.kill(*to);
                self.expr(program, base);
                self.expr(program, max);
                self.inputs(program, data);
            }
            Op::Random { to, low, high } => {
                self.kill(*to);
                self.expr(program, low);
                self.expr(program, high);
            }
            Op::Count { index: expr, .. }
            | Op::Advance(expr)
            | Op::ExtractVarbit { bits: expr, .. }
            | Op::Assert(expr) => self.expr(program, expr),
            Op::Verify { cond, error } => {
                self.expr(program, cond);
                self.expr(program, error);
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
            // The others read a lot, or are rare.
            _ => self.all(),
        }
    }
}

/// Removes dead assignments from a graph. `kept`: words from 0 that matter behind it (headers
/// and metadata; what comes after are locals).
pub(super) fn remove(program: &Program, graph: &mut Cfg, kept: Word) {
    let words = program.state_words;
    let count = graph.blocks.len();
    let mut entry: Vec<Live> = vec![Live::new(words); count];
    let mut changed = true;
    while changed {
        changed = false;
        for i in (0..count).rev() {
            let mut live = behind(program, graph, i, &entry, kept);
            for op in graph.blocks[i].ops.iter().rev() {
                live.before(program, op);
            }
            if live != entry[i] {
                entry[i] = live;
                changed = true;
            }
        }
    }
    for i in 0..count {
        let mut live = behind(program, graph, i, &entry, kept);
        let block = &mut graph.blocks[i];
        let mut keep = vec![true; block.ops.len()];
        for (op, keep) in block.ops.iter().zip(&mut keep).rev() {
            if let Op::Assign { to, .. } = op
                && !live.any(*to)
            {
                *keep = false;
                continue;
            }
            live.before(program, op);
        }
        let mut kept_ops = keep.iter();
        block.ops.retain(|_| kept_ops.next() == Some(&true));
        let mut kept_spans = keep.iter();
        block.spans.retain(|_| kept_spans.next() == Some(&true));
    }
}

/// What matters at the end of a block.
fn behind(program: &Program, graph: &Cfg, block: usize, entry: &[Live], kept: Word) -> Live {
    let mut live = Live::new(program.state_words);
    match &graph.blocks[block].terminator {
        Terminator::Jump(to) => live.join(&entry[*to as usize]),
        Terminator::Branch { cond, then, otherwise } => {
            live.join(&entry[*then as usize]);
            live.join(&entry[*otherwise as usize]);
            live.expr(program, cond);
        }
        Terminator::Select { keys, cases, default } => {
            live.join(&entry[*default as usize]);
            for case in cases {
                live.join(&entry[case.target as usize]);
            }
            keys.iter().for_each(|key| live.expr(program, key));
        }
        Terminator::Apply(apply) => {
            for target in &apply.targets {
                live.join(&entry[target.block as usize]);
            }
            live.set(apply.hit, 1, false);
            live.set(apply.action_run, 1, false);
            apply.keys.iter().for_each(|key| live.expr(program, key));
        }
        Terminator::Exit => live.set(0, kept, true),
    }
    live
}
