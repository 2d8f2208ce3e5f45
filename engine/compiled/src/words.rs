//! Sets of words of the state area, and which words operations and graphs read and write.

use netkv_ir::{Apply, Cfg, Expr, FieldList, HashInput, Op, Place, Program, Terminator, Word};

/// A set of words of the state area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(Vec<bool>);

impl Words {
    pub(crate) fn empty(program: &Program) -> Self {
        Self(vec![false; program.state_words as usize])
    }

    pub(crate) fn contains(&self, word: Word) -> bool {
        self.0[word as usize]
    }

    pub(crate) fn add(&mut self, word: Word, words: u32) {
        self.0[word as usize..(word + words) as usize].fill(true);
    }

    pub(crate) fn place(&mut self, place: Place) {
        self.add(place.word, place.words());
    }

    pub(crate) fn field_list(&mut self, list: &FieldList) {
        list.places.iter().for_each(|place| self.place(*place));
        list.regions.iter().for_each(|(word, count)| self.add(*word, *count));
    }

    pub(crate) fn remove(&mut self, word: Word) {
        self.0[word as usize] = false;
    }

    /// Adds the words that a table sets.
    pub(crate) fn apply_results(&mut self, apply: &Apply) {
        self.add(apply.hit, 1);
        self.add(apply.action_run, 1);
        let params = apply.targets.iter().flat_map(|target| &target.params);
        params.for_each(|place| self.place(*place));
    }

    /// The words of the set, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Word> {
        (0..).zip(&self.0).filter(|(_, inside)| **inside).map(|(word, _)| word)
    }

    /// Whether the set has a word of another one.
    pub(crate) fn meets(&self, other: &Words) -> bool {
        self.0.iter().zip(&other.0).any(|(mine, other)| *mine && *other)
    }

    /// The words of the fields of headers.
    pub(crate) fn of_fields(program: &Program, headers: impl IntoIterator<Item = u32>) -> Self {
        let mut words = Self::empty(program);
        for header in headers {
            let header = &program.headers[header as usize];
            words.add(header.base, header.words);
        }
        words
    }

    pub(crate) fn union(&mut self, other: &Words) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine |= other;
        }
    }

    pub(crate) fn intersect(&mut self, other: &Words) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine &= other;
        }
    }
}

/// Calls `visit` for every expression of an operation and for its subexpressions.
pub(crate) fn op_exprs(op: &Op, visit: &mut impl FnMut(&Expr)) {
    match op {
        Op::Assign { value, .. } | Op::AssignSlice { value, .. } => visit_all(value, visit),
        Op::StoreElement { index, value, .. } | Op::RegisterWrite { index, value, .. } => {
            visit_all(index, visit);
            visit_all(value, visit);
        }
        Op::SetValidElement { index, .. }
        | Op::RegisterRead { index, .. }
        | Op::Count { index, .. }
        | Op::ExecuteMeter { index, .. } => visit_all(index, visit),
        Op::ExtractVarbit { bits, .. } | Op::Advance(bits) | Op::Truncate(bits) => {
            visit_all(bits, visit)
        }
        Op::Verify { cond, error } => {
            visit_all(cond, visit);
            visit_all(error, visit);
        }
        Op::Hash { base, data, max, .. } => {
            visit_all(base, visit);
            visit_all(max, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::Random { low, high, .. } => {
            visit_all(low, visit);
            visit_all(high, visit);
        }
        Op::VerifyChecksum { cond, data, checksum, .. } => {
            visit_all(cond, visit);
            visit_all(checksum, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::UpdateChecksum { cond, data, .. } => {
            visit_all(cond, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::Clone { session, .. } => visit_all(session, visit),
        Op::Digest { values, .. } => values.iter().for_each(|value| visit_all(value, visit)),
        Op::Assert { cond, .. } => visit_all(cond, visit),
        _ => {}
    }
}

pub(crate) fn terminator_exprs(terminator: &Terminator, visit: &mut impl FnMut(&Expr)) {
    match terminator {
        Terminator::Branch { cond, .. } => visit_all(cond, visit),
        Terminator::Select { keys, .. } => keys.iter().for_each(|key| visit_all(key, visit)),
        Terminator::Apply(apply) => apply.keys.iter().for_each(|key| visit_all(key, visit)),
        Terminator::Jump(_) | Terminator::Exit => {}
    }
}

/// Calls `visit` for an expression and its subexpressions.
pub(crate) fn visit_all(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => {}
        Expr::LoadElement { index: arg, .. }
        | Expr::Unary { arg, .. }
        | Expr::Slice { arg, .. } => visit_all(arg, visit),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
            visit_all(left, visit);
            visit_all(right, visit);
        }
        Expr::Mux { cond, then, otherwise } => {
            visit_all(cond, visit);
            visit_all(then, visit);
            visit_all(otherwise, visit);
        }
    }
}

/// The words that an operation writes, and those that it reads other than in expressions.
pub(crate) fn accessed_by(program: &Program, op: &Op) -> Words {
    let mut accessed = Words::empty(program);
    AccessCollector { program, accessed: &mut accessed }.op(op);
    accessed
}

/// The words that an operation may write.
pub(crate) fn written_by(program: &Program, op: &Op) -> Words {
    let mut written = Words::empty(program);
    match op {
        Op::UpdateChecksum { to, .. } | Op::Hash { to, .. } => written.place(*to),
        Op::VerifyChecksum { .. } => written.place(program.standard_metadata.checksum_error),
        Op::Emit(_) | Op::EmitStack(_) => {}
        _ => return accessed_by(program, op),
    }
    written
}

/// The words that the operations of a graph may write, and those that its tables set.
pub(crate) fn written_in(program: &Program, cfg: &Cfg) -> Words {
    let mut written = Words::empty(program);
    for block in &cfg.blocks {
        block.ops.iter().for_each(|op| written.union(&written_by(program, op)));
        if let Terminator::Apply(apply) = &block.terminator {
            written.apply_results(apply);
        }
    }
    written
}

/// The words that a graph accesses.
pub(crate) fn accessed_in(program: &Program, cfg: &Cfg) -> Words {
    let mut accessed = Words::empty(program);
    AccessCollector { program, accessed: &mut accessed }.cfg(cfg);
    accessed
}

/// The words that an operation accesses, with those of its expressions.
pub(crate) fn words_of_op(program: &Program, op: &Op) -> Words {
    let mut accessed = accessed_by(program, op);
    let mut collector = AccessCollector { program, accessed: &mut accessed };
    op_exprs(op, &mut |expr| collector.expr(expr));
    accessed
}

/// The words that the expressions of a terminator read.
pub(crate) fn words_of_terminator(program: &Program, terminator: &Terminator) -> Words {
    let mut accessed = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut accessed };
    terminator_exprs(terminator, &mut |expr| collector.expr(expr));
    accessed
}

/// The words that an operation may read, and all others that it accesses unless it assigns them.
pub(crate) fn read_by(program: &Program, op: &Op) -> Words {
    let mut read = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut read };
    op_exprs(op, &mut |expr| collector.expr(expr));
    if !matches!(op, Op::Assign { .. }) {
        collector.op(op);
    }
    read
}

/// The words that the terminator of a block reads.
pub(crate) fn read_by_terminator(program: &Program, terminator: &Terminator) -> Words {
    let mut read = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut read };
    terminator_exprs(terminator, &mut |expr| collector.expr(expr));
    read
}

/// Collects the words that a graph accesses.
struct AccessCollector<'a> {
    program: &'a Program,
    accessed: &'a mut Words,
}

impl AccessCollector<'_> {
    fn cfg(&mut self, cfg: &Cfg) {
        for block in &cfg.blocks {
            for op in &block.ops {
                op_exprs(op, &mut |expr| self.expr(expr));
                self.op(op);
            }
            terminator_exprs(&block.terminator, &mut |expr| self.expr(expr));
            if let Terminator::Apply(apply) = &block.terminator {
                self.accessed.apply_results(apply);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Load(place) => self.accessed.place(*place),
            Expr::LoadElement { stack, .. } => self.stack(*stack),
            _ => {}
        }
    }

    fn header(&mut self, header: u32) {
        let header = &self.program.headers[header as usize];
        self.accessed.add(header.valid, 1);
        self.accessed.add(header.base, header.words);
    }

    fn stack(&mut self, stack: u32) {
        let stack = &self.program.stacks[stack as usize];
        self.accessed.add(stack.next_index, 1);
        (stack.first..stack.first + stack.size).for_each(|header| self.header(header));
    }

    fn inputs(&mut self, data: &[HashInput]) {
        for input in data {
            input.varbit_length.iter().for_each(|word| self.accessed.add(*word, 1));
            input.header.iter().for_each(|header| self.header(*header));
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Assign { to, .. }
            | Op::AssignSlice { to, .. }
            | Op::Lookahead { to, .. }
            | Op::RegisterRead { to, .. }
            | Op::ExecuteMeter { to, .. }
            | Op::ReadDirectMeter { to, .. }
            | Op::Random { to, .. } => self.accessed.place(*to),
            Op::StoreElement { stack, .. }
            | Op::SetValidElement { stack, .. }
            | Op::PushFront { stack, .. }
            | Op::PopFront { stack, .. }
            | Op::ExtractNext(stack)
            | Op::CheckStackLast(stack)
            | Op::EmitStack(stack) => self.stack(*stack),
            Op::CopyHeader { to, from } => {
                self.header(*to);
                self.header(*from);
            }
            Op::CopyWords { to, from, words } => {
                self.accessed.add(*to, *words);
                self.accessed.add(*from, *words);
            }
            Op::ZeroWords { to, words } => self.accessed.add(*to, *words),
            Op::SetValid(header)
            | Op::SetInvalid(header)
            | Op::Extract(header)
            | Op::ExtractVarbit { header, .. }
            | Op::Emit(header) => self.header(*header),
            Op::Hash { to, data, .. } => {
                self.accessed.place(*to);
                self.inputs(data);
            }
            Op::VerifyChecksum { data, .. } => {
                self.inputs(data);
                self.accessed.place(self.program.standard_metadata.checksum_error);
            }
            Op::UpdateChecksum { data, to, header, .. } => {
                self.accessed.place(*to);
                self.inputs(data);
                header.iter().for_each(|header| self.header(*header));
            }
            Op::MarkToDrop => {
                self.accessed.place(self.program.standard_metadata.egress_spec);
                self.accessed.place(self.program.standard_metadata.mcast_grp);
            }
            Op::Advance(_)
            | Op::Verify { .. }
            | Op::Reject
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::Clone { .. }
            | Op::Resubmit { .. }
            | Op::Recirculate { .. }
            | Op::Digest { .. }
            | Op::Truncate(_)
            | Op::Log { .. }
            | Op::Assert { .. } => {}
        }
    }
}
